// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/guarded_call.h"

#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/guest/memory/host_place.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace rdb::debug {
namespace {

// Functions of the libraries, whichever of them are there.
template <size_t count>
std::array<void*, count> find_all(const std::array<const char*, count>& names) {
  std::array<void*, count> found = {};
  std::ranges::transform(names, found.begin(), [](const char* name) { return dlsym(RTLD_DEFAULT, name); });
  return found;
}

bool is_one_of(const auto& functions, uint64_t function) {
  return std::ranges::find(functions, reinterpret_cast<void*>(function)) != functions.end();
}

// A stream that was given such a buffer would write to it later, in calls that nobody watches.
bool keeps_buffer(uint64_t function) {
  static const auto functions =
      find_all(std::array{"_ZNSt13basic_filebufIcSt11char_traitsIcEE6setbufEPcl",
                          "_ZNSt13basic_filebufIwSt11char_traitsIwEE6setbufEPwl",
                          "_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE6setbufEPcl",
                          "_ZNSt7__cxx1115basic_stringbufIwSt11char_traitsIwESaIwEE6setbufEPwl"});
  return is_one_of(functions, function);
}

// Who calls through a pointer does not know what. These are what std::stoi() and its kin call so.
bool writes_where_told(uint64_t function) {
  static const auto functions = find_all(std::array{"strtol", "strtoll", "strtoul", "strtoull", "strtof",
                                                    "strtod", "strtold", "wcstol", "wcstoul"});
  return is_one_of(functions, function);
}

} // namespace

void call_watched(CallFrame& frame, uint64_t function) {
  const DebugSession* session = DebugSession::current();
  NestedCalls* calls = session != nullptr ? session->nested_calls : nullptr;
  if (frame.is_always_watched && writes_where_told(function)) frame.is_always_watched = false;
  // The module's own code keeps what it writes.
  if (calls == nullptr || !can_abort_debug_code() || session->modules.contains(function) ||
      !calls->begin_watch(frame)) {
    call_host(frame, function);
    return;
  }
  const uint64_t buffer = frame.integer[1];
  if (keeps_buffer(function) && buffer != 0 && !guest::is_host(buffer))
    abort_debug_code("debug code must not call setbuf of a stream with memory of the program");
  try {
    call_host(frame, function);
  } catch (...) {
    calls->end_watch();
    throw;
  }
  calls->end_watch();
}

void run_watched_call(CallFrame& frame, uint64_t function) {
  // Outside of regions, in a constructor of the module, little is known of the stack.
  constexpr uint64_t kUsual = 96;
  auto arguments = reinterpret_cast<uint64_t>(frame.stack_arguments);
  frame.stack_size = kUsual;
  if (can_abort_debug_code()) {
    auto end = reinterpret_cast<uint64_t>(DebugSession::run.abort_point);
    frame.stack_size = std::min<uint64_t>((end - arguments) & ~15ull, kMostArguments);
  }
  frame.is_wide = false;
  call_watched(frame, function);
}

} // namespace rdb::debug
