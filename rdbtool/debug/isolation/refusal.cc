// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/refusal.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/events/event_api.h"
#include "rdbtool/debug/isolation/fallback.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/debug/regions/thread_blocks.h"
#include "runtime-libs/module/module_host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <stdio_ext.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace rdb::debug {
namespace {

Departure g_departure = {};
std::vector<std::span<const uint8_t>> g_modules;
StackRoom g_stack;

[[noreturn]] void refuse(const char* what) {
  give_up_at(nullptr, "debug code must not call {}", what);
}

uint64_t g_guest_output = 0;
uint64_t g_guest_error = 0;

void* own_file(void* guest, const char* function) {
  auto address = reinterpret_cast<uint64_t>(guest);
  if (address == g_guest_output) return stdout;
  if (address == g_guest_error) return stderr;
  give_up_at(nullptr,
             "debug code called {0} with a FILE of the program: of those its own libc has only stdout and "
             "stderr (rdb_guest({0}) is the program's)",
             function);
}

// What was open before debug code came.
std::set<int> open_files() {
  std::set<int> result = {0, 1, 2};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
    result.insert(static_cast<int>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  // The folder was open while it was read.
  std::erase_if(result, [](int number) { return number > 2 && fcntl(number, F_GETFD) < 0; });
  return result;
}

} // namespace

void set_guest_streams(uint64_t output, uint64_t error) {
  g_guest_output = output;
  g_guest_error = error;
}

uint64_t guest_stream(size_t index) {
  return index == 0 ? g_guest_output : g_guest_error;
}

const rdb_module_host* module_host() {
  static const rdb_module_host host = [] {
    rdb_module_host table = {};
    table.version = RDB_MODULE_HOST_VERSION;
    table.refuse = refuse;
    table.guest_call = nested_call_stub();
    table.guest_end = guest::kHighEnd;
    table.file = own_file;
    table.region_stack = []() -> const void* { return running.escape; };
    table.run_number = []() -> unsigned long { return running.number; };
    table.use_libc = &RegionRunner::use_libc;
    table.keep = &NestedCalls::keep_for_debug_code;
    table.is_own_file = [](int file) -> int {
      static const std::set<int> files = open_files();
      return files.contains(file) ? 1 : 0;
    };
    table.is_own_file(0); // now
    table.guard = &NestedCalls::guard_for_debug_code;
    table.fill = &NestedCalls::fill_for_debug_code;
    table.destroy_in_thread = &ThreadBlocks::add_object;
    table.always_watched_call = always_watched_stub();
    fill_events(table);
    return table;
  }();
  return &host;
}

Departure& departure() {
  return g_departure;
}

void Departure::set_reason(std::string_view text) {
  reason[text.copy(reason, sizeof reason - 1)] = '\0';
}

void give_up(std::string_view reason, void* context) {
  if (can_escape() && running.fast != nullptr && context != nullptr) running.fast->leave_fast_hook(context);
  ucontext_t here;
  if (context == nullptr) {
    getcontext(&here);
    context = &here;
  }
  give_up_from(whereabouts(context, g_stack), reason);
}

void give_up_from(const Whereabouts& place, std::string_view reason) {
  if (running.escape == nullptr) {
    // A constructor of the module: there is no region to go back to.
    print_error("rdb: {} (outside of any region)\n", reason);
    Fallback::end_loading();
    std::fflush(nullptr);
    _exit(kExitFailure);
  }
  if (__fpending(stdout) != 0) fflush_unlocked(stdout);
  running.escape->taken = true;
  g_departure.set_reason(reason);
  g_departure.place = place;
  __builtin_longjmp(running.escape->place, 1);
}

std::string describe_exception(std::string_view words) {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return fmt::format("{}: {}", words, thrown.what());
  } catch (...) {
    return std::string(words);
  }
}

void add_module(std::span<const uint8_t> code) {
  g_modules.push_back(code);
}

void remove_module(std::span<const uint8_t> code) {
  std::erase_if(g_modules, [&](std::span<const uint8_t> known) { return known.data() == code.data(); });
}

bool in_module(uint64_t address) {
  return std::ranges::any_of(g_modules, [&](std::span<const uint8_t> code) {
    return address - reinterpret_cast<uint64_t>(code.data()) < code.size();
  });
}

} // namespace rdb::debug
