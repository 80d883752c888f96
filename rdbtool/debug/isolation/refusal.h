// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code that must be stopped: it asked for something that would end or fork its host, or it crashed. It
// is left by a jump back to where it was called from; its own clean-up does not run.
#pragma once

#include "rdbtool/debug/isolation/captured_stack.h"
#include "rdbtool/engine/engine.h"

#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct rdb_module_host;

namespace rdb::engine {
class Translator;
}

namespace rdb::debug {

// What a debug module is told about its host.
const rdb_module_host* module_host();

// Where to go when the running debug function is given up. One is made for every run, so it is small; it lies
// on the stack, between the debug function's frames and rdb's.
struct Escape {
  void* place[5]; // of __builtin_setjmp, which takes a quarter of the time of libc's
  bool taken = false;
};
// One debug function runs at a time in a process.
struct Running {
  Escape* escape = nullptr;           // null when none does
  uint64_t number = 0;                // of runs so far
  engine::Translator* fast = nullptr; // whose fast hook it is called from, if it is
};
inline constinit Running running;
// Why the last debug function was given up, and where it was then. In memory of its own: debug code may have
// broken the heap.
struct Departure {
  char reason[400];
  Whereabouts place;

  void set_reason(std::string_view text);
};
Departure& departure();
// The program's own standard output and error, as its libc has them; 0 while they are not known.
void set_guest_streams(uint64_t output, uint64_t error);
uint64_t guest_stream(size_t index); // 0: standard output, 1: error
// Where the program's libc has errno, from the thread pointer; nothing while that is not known.
inline constinit std::optional<uint64_t> g_guest_errno;
inline void set_guest_errno(uint64_t offset) {
  g_guest_errno = offset;
}
inline std::optional<uint64_t> guest_errno() {
  return g_guest_errno;
}
inline bool can_escape() {
  return running.escape != nullptr;
}
// Leaves the running debug function. Does not return. What it printed so far is written first. Takes nothing
// from the heap. `context`: a signal handler's, to tell where.
[[noreturn]] void give_up(std::string_view reason, void* context = nullptr);
[[noreturn]] void give_up_from(const Whereabouts& place, std::string_view reason);

// The same, with a format.
template <class... Arguments>
[[noreturn]] void give_up_at(void* context, fmt::format_string<Arguments...> format,
                             Arguments&&... arguments) {
  fmt::basic_memory_buffer<char, sizeof(Departure::reason)> text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
  give_up({text.data(), text.size()}, context);
}

// The code of debug modules, while they are there.
void add_module(std::span<const uint8_t> code);
void remove_module(std::span<const uint8_t> code);
bool in_module(uint64_t address);

// In a handler: these words, and what the exception says.
std::string describe_exception(std::string_view words);

} // namespace rdb::debug
