// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are abandoned by longjmp() or an exception instead of returning. The program may reach the
// return address later anyway, in the same frame or in one that is as deep.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <array>
#include <optional>
#include <string_view>

namespace rdb::debug {

// Functions of libc that leave calls; others of their kind are these under other names.
inline constexpr std::array<std::string_view, 2> kJumpsOut = {"longjmp", "__longjmp_chk"};

// Calls, by the stack pointer when they have returned.
struct CallsLeft {
  uint64_t above;
  uint64_t up_to;
  bool has(uint64_t sp) const { return sp > above && sp <= up_to; }
};
// The thread enters one of those functions; none if it goes to another stack, where calls may go on later.
std::optional<CallsLeft> calls_left(replay::Replayer& replayer);

// The thread is where a call returns to, with the stack pointer of then. Has it just come back from there?
// Then its return address is still where it was.
bool has_come_back(replay::Replayer& replayer, uint64_t pc);

} // namespace rdb::debug
