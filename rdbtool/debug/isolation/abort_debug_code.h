// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Aborts a debug function: it is left before it ends. It may crash, run for ever, or call something that
// would end or fork its host, and rdb must go on without it. Nothing can be unwound then: the libraries'
// frames in between may hold broken data. So rdb notes where it calls a debug function from (AbortPoint), and
// abort_debug_code() jumps back there over all of the debug function's frames, whose own clean-up does not
// run.
#pragma once

#include "rdbtool/debug/isolation/captured_stack.h"

#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace rdb::engine {
class Translator;
}

namespace rdb::debug {

// Where to go when the running debug function is aborted. One is made for every run, so it is small; it lies
// on the stack, between the debug function's frames and rdb's.
struct AbortPoint {
  void* jump_buffer[5]; // of __builtin_setjmp, which takes a quarter of the time of libc's
  bool taken = false;
};

// The debug function that runs; one at a time does in a process.
struct CurrentRun {
  AbortPoint* abort_point = nullptr;  // null when none runs
  uint64_t number = 0;                // how many have run so far
  engine::Translator* fast = nullptr; // whose fast hook it is called from; null if it is not
};

// Why the last debug function was aborted, and where it was then. All of it is here, nothing on the heap,
// which debug code may have broken.
struct LastAbort {
  char reason[400];
  CapturedStack stack;

  void set_reason(std::string_view text);
};

// Returns true if a debug function runs, so that there is something to abort.
bool can_abort_debug_code();

// Leaves the running debug function, for `reason`. What it printed so far is written first. Takes nothing
// from the heap. `context`: of the signal handler that this is called from, if it is one; it tells where
// debug code was.
[[noreturn]] void abort_debug_code(std::string_view reason, void* context = nullptr);
[[noreturn]] void abort_debug_code_from(const CapturedStack& stack, std::string_view reason);

// The same, with a format.
template <class... Arguments>
[[noreturn]] void abort_debug_code_at(void* context, fmt::format_string<Arguments...> format,
                                      Arguments&&... arguments) {
  fmt::basic_memory_buffer<char, sizeof(LastAbort::reason)> text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
  abort_debug_code({text.data(), text.size()}, context);
}

// To be called where an exception is caught: these words, and what the exception says.
std::string describe_exception(std::string_view words);

} // namespace rdb::debug
