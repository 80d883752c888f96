// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three kinds of trouble, never mixed: the user's mistake, a limit of rdb, a bug in rdb.
// main() turns them into one line on stderr that begins "rdb:" and an exit status.
#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace rdb {

// Exit statuses of rdb itself; everything else is the guest's.
inline constexpr int kExitUsage = 2;     // wrong use, before anything started
inline constexpr int kExitFailure = 125; // rdb failed once a program was running

// The user asked for something that cannot be: a missing file, a malformed option or trace.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Something rdb does not do; docs/limits.md lists it by the name used in the message.
struct Limit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// rdb itself is wrong.
struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

template <class... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void limit(fmt::format_string<Args...> format, Args&&... args) {
  throw Limit(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void bug(fmt::format_string<Args...> format, Args&&... args) {
  throw Bug(fmt::format(format, std::forward<Args>(args)...));
}

#ifdef __cpp_rtti // the compiler plugins are built without
// What the user reads of it, after "rdb: ". What is none of the three came from the system: no memory, no
// space, no permission.
inline std::string failure_text(const std::exception& error) {
  const char* kind = dynamic_cast<const Limit*>(&error) != nullptr ? "not supported: "
                     : dynamic_cast<const Bug*>(&error) != nullptr ? "internal error, please report it: "
                                                                   : "";
  return std::string(kind) + error.what();
}
#endif

} // namespace rdb

// Stays on in release builds: an exact replay is worth a compare.
#define RDB_CHECK(condition)                                                                                 \
  do {                                                                                                       \
    if (!(condition)) [[unlikely]]                                                                           \
      ::rdb::bug("{}:{}: check failed: {}", __FILE__, __LINE__, #condition);                                 \
  } while (0)
