// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/event_api.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/syscalls/table.h"
#include "runtime-libs/module/module_host.h"

#include <cstdio>

namespace rdb::debug {
namespace {

static_assert(static_cast<int>(EventKind::exit) == RDB_EXIT &&
              static_cast<int>(EventKind::after_access) == RDB_ACCESS_AFTER);

// One replay at a time has debug code.
EventApi* g_api = nullptr;

struct Call {
  rdb_callback callback;
  const rdb_event* event;
};

void call_back(void* argument) {
  auto* call = static_cast<Call*>(argument);
  call->callback(call->event);
}

uint64_t refuse(const std::string& why) {
  fmt::print(stderr, "rdb: an event was not registered: {}\n", why);
  return 0;
}

} // namespace

EventApi::EventApi(Events& events, RegionRunner& runner, replay::Replayer& replayer,
                   const replay::Backtracer::LineMap& lines)
    : events_(events), runner_(runner), replayer_(replayer), backtracer_(replayer) {
  backtracer_.set_line_map(lines);
  g_api = this;
}

EventApi::~EventApi() {
  g_api = nullptr;
}

uint64_t EventApi::add(rdb_event_kind kind, const char* name, const void* address, size_t size, unsigned how,
                       rdb_callback callback, void* data) {
  if (callback == nullptr) return refuse("there is no callback");
  auto side = static_cast<EventKind>(kind);
  RegionCount& count = counts_.emplace_back();
  count.place = "an event's callback";
  auto tell_it = [this, &count, callback, data](replay::Replayer&, const Event& event) {
    tell(count, event, callback, data);
  };
  GuestAddr place(reinterpret_cast<uint64_t>(address));
  switch (kind) {
  case RDB_SYSCALL_BEFORE:
  case RDB_SYSCALL_AFTER: {
    if (name == nullptr) return events_.on_syscall(side, std::nullopt, tell_it);
    std::optional<int64_t> number = syscall_number(name);
    if (!number) return refuse(fmt::format("there is no system call '{}'", name));
    return events_.on_syscall(side, number, tell_it);
  }
  case RDB_CALL:
  case RDB_RETURN:
    if (name != nullptr) return events_.on_function(side, std::string(name), tell_it);
    if (replayer_.space().find(place.value) == nullptr)
      return refuse(fmt::format("{} is no address of the program", address));
    return events_.on_function(side, place, tell_it);
  case RDB_ACCESS_BEFORE:
  case RDB_ACCESS_AFTER:
    if (size == 0 || !replayer_.space().in_guest_range(place.value, place.value + size))
      return refuse(fmt::format("{} bytes at {} are not the program's memory", size, address));
    return events_.on_access(side, place, size, how & RDB_MODULE_READS, how & RDB_MODULE_WRITES, tell_it);
  default:
    return events_.on(side, tell_it);
  }
}

void EventApi::tell(RegionCount& count, const Event& event, rdb_callback callback, void* data) {
  if (!count.disabled.empty()) return;
  rdb_event told = {};
  told.kind = static_cast<rdb_event_kind>(event.kind);
  told.thread = replayer_.thread().value;
  told.time = replayer_.now().value;
  told.pc = event.pc.ptr();
  told.number = event.number;
  std::copy(event.arguments, event.arguments + 6, told.arguments);
  told.result = event.result;
  told.address = event.address.ptr();
  told.size = event.size;
  told.is_write = event.write;
  told.by_system_call = event.by_system_call;
  told.old_bytes = event.old_bytes.data();
  told.new_bytes = event.new_bytes.data();
  told.function = event.name.c_str();
  told.data = data;
  Call call{callback, &told};
  runner_.run(count, call_back, &call, [] { std::fflush(stdout); });
}

const char* EventApi::where(const void* address) {
  const replay::BacktraceFrame& frame = backtracer_.at(GuestAddr(reinterpret_cast<uint64_t>(address)));
  where_ = frame.function.empty() ? "??" : frame.function;
  if (!frame.place.empty()) where_ += " at " + frame.place;
  return where_.c_str();
}

void EventApi::print_backtrace() {
  std::fputs(replay::describe(backtracer_.frames(64)).c_str(), stdout);
}

void fill_events(rdb_module_host& host) {
  host.add_event = [](int kind, const char* name, const void* address, unsigned long size, unsigned how,
                      void (*callback)(const rdb_event*), void* data) -> unsigned long {
    return g_api->add(static_cast<rdb_event_kind>(kind), name, address, size, how, callback, data);
  };
  host.remove_event = [](unsigned long id) { return g_api->remove(id) ? 0 : -1; };
  host.time = []() -> unsigned long { return g_api->replayer().now().value; };
  host.thread = [] { return static_cast<int>(g_api->replayer().thread().value); };
  host.read = [](const void* from, void* to, unsigned long size) -> unsigned long {
    return g_api->replayer().space().read(GuestAddr(reinterpret_cast<uint64_t>(from)), to, size);
  };
  host.where = [](const void* address) { return g_api->where(address); };
  host.print_backtrace = [] { g_api->print_backtrace(); };
}

} // namespace rdb::debug
