// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug modules look into streams of the C++ library: what they take for a buffer must be one.
#include "runtime-libs/module/looks.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <locale>
#include <sstream>
#include <streambuf>

namespace {

struct Buffer : std::streambuf {
  char room[8];

  Buffer() {
    setg(room, room + 1, room + 2);
    setp(room + 3, room + 5);
    pbump(1);
  }
};

const void* first_word(const std::locale& locale) {
  return *reinterpret_cast<const void* const*>(&locale);
}

const rdb_ios& ios_of(const void* stream) {
  const auto* offsets = *static_cast<const ptrdiff_t* const*>(stream);
  return *reinterpret_cast<const rdb_ios*>(static_cast<const char*>(stream) + offsets[RDB_OFFSET_OF_IOS]);
}

TEST(StreamLayout, Buffers) {
  Buffer buffer;
  std::locale locale(std::locale::classic(), new std::numpunct<char>);
  buffer.pubimbue(locale);
  rdb_streambuf parts;
  std::memcpy(&parts, static_cast<const void*>(static_cast<std::streambuf*>(&buffer)), sizeof parts);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(parts.get[i], buffer.room + i);
  EXPECT_EQ(parts.put[0], buffer.room + 3);
  EXPECT_EQ(parts.put[1], buffer.room + 4);
  EXPECT_EQ(parts.put[2], buffer.room + 5);
  EXPECT_EQ(parts.locale, first_word(locale));
}

template <class Stream>
void expect_found() {
  Stream stream;
  std::locale locale(std::locale::classic(), new std::numpunct<char>);
  stream.imbue(locale);
  const rdb_ios& ios = ios_of(&stream);
  EXPECT_EQ(&ios, static_cast<const void*>(static_cast<std::ios*>(&stream)));
  EXPECT_EQ(ios.buffer, static_cast<const void*>(static_cast<std::streambuf*>(stream.rdbuf())));
  EXPECT_EQ(ios.locale, first_word(locale));
}

TEST(StreamLayout, Streams) {
  expect_found<std::ostringstream>();
  expect_found<std::istringstream>();
  expect_found<std::stringstream>();
  std::stringstream both;
  EXPECT_EQ(&ios_of(static_cast<std::ostream*>(&both)), &ios_of(static_cast<std::istream*>(&both)));
}

} // namespace
