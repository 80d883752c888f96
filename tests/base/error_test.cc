// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three kinds of trouble stay apart, carry their formatted text, and checks are on in every build.
#include "rdbtool/base/error.h"

#include <gtest/gtest.h>

namespace rdb {
namespace {

template <class Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  } catch (...) {
    return "another kind";
  }
  return "nothing thrown";
}

TEST(Error, EachKindIsThrownAsItselfWithItsText) {
  EXPECT_EQ(message_of<UserError>([] { user_error("no file {}", "a.out"); }), "no file a.out");
  EXPECT_EQ(message_of<Limit>([] { limit("{} threads", 3); }), "3 threads");
  EXPECT_EQ(message_of<Bug>([] { bug("state {:#x}", 16); }), "state 0x10");
}

TEST(Error, ALimitIsNeitherAUsersMistakeNorABug) {
  EXPECT_EQ(message_of<UserError>([] { limit("x"); }), "another kind");
  EXPECT_EQ(message_of<Bug>([] { limit("x"); }), "another kind");
}

TEST(Error, AFailedCheckIsABugThatNamesItsPlaceAndCondition) {
  int two = 2;
  std::string message = message_of<Bug>([&] { RDB_CHECK(two == 3); });
  EXPECT_NE(message.find("error_test.cc:"), std::string::npos) << message;
  EXPECT_NE(message.find("two == 3"), std::string::npos) << message;
  EXPECT_EQ(message_of<Bug>([&] { RDB_CHECK(two == 2); }), "nothing thrown");
}

} // namespace
} // namespace rdb
