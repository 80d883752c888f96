// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/module_host.h"

#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/events/event_api.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/debug/regions/module_thread_locals.h"
#include "rdbtool/guest/memory/host_place.h"
#include "runtime-libs/module/module_host.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <system_error>

namespace rdb::debug {
namespace {

[[noreturn]] void refuse(const char* what) {
  abort_debug_code_at(nullptr, "debug code must not call {}", what);
}

// Debug code's own stream for one of the program's.
void* own_file(void* guest, const char* function) {
  const GuestLibc& libc = DebugSession::current()->libc;
  auto address = reinterpret_cast<uint64_t>(guest);
  if (address == libc.stream(GuestLibc::Stream::output)) return stdout;
  if (address == libc.stream(GuestLibc::Stream::error)) return stderr;
  abort_debug_code_at(
      nullptr,
      "debug code called {0} with a FILE of the program: of those its own libc has only stdout and "
      "stderr (rdb_guest({0}) is the program's)",
      function);
}

// The descriptors that are open now.
std::set<int> open_files() {
  std::set<int> result = {0, 1, 2};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
    result.insert(static_cast<int>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  // The folder was open while it was read.
  std::erase_if(result, [](int number) { return number > 2 && fcntl(number, F_GETFD) < 0; });
  return result;
}

rdb_module_host make_table() {
  rdb_module_host table = {};
  table.version = RDB_MODULE_HOST_VERSION;
  table.refuse = refuse;
  table.guest_call = nested_call_stub();
  static const rdb_host_place place{guest::host_place.low_begin, guest::host_place.low_size,
                                    guest::host_place.high_begin};
  table.host_place = &place;
  table.file = own_file;
  table.region_stack = []() -> const void* { return DebugSession::run.abort_point; };
  table.run_number = []() -> unsigned long { return DebugSession::run.number; };
  table.use_libc = &RegionRunner::use_libc;
  table.keep = &NestedCalls::keep_for_debug_code;
  table.is_own_file = [](int file) -> int {
    return DebugSession::current()->own_files.contains(file) ? 1 : 0;
  };
  table.guard = &NestedCalls::guard_for_debug_code;
  table.fill = &NestedCalls::fill_for_debug_code;
  table.destroy_in_thread = &ModuleThreadLocals::add_object;
  table.always_watched_call = always_watched_stub();
  fill_events(table);
  return table;
}

} // namespace

const rdb_module_host* module_host(DebugSession& session) {
  static const rdb_module_host host = make_table();
  // What is open before debug code comes is rdb's.
  if (session.own_files.empty()) session.own_files = open_files();
  return &host;
}

} // namespace rdb::debug
