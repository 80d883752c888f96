// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/event_api.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/syscalls/table.h"
#include "runtime-libs/module/module_host.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace rdb::debug {
namespace {

static_assert(static_cast<int>(EventKind::time) == RDB_TIME && kEventKinds == RDB_TIME + 1 &&
              static_cast<int>(EventKind::after_access) == RDB_ACCESS_AFTER);

static_assert(sizeof(rdb_registers) <= sizeof(engine::Registers) &&
              offsetof(rdb_registers, rdi) == engine::RDI * 8 &&
              offsetof(rdb_registers, rip) == offsetof(engine::Registers, rip) &&
              offsetof(rdb_registers, gs_base) == offsetof(engine::Registers, gs_base));

// Of the session that debug code runs in.
EventApi& api() {
  EventApi* events = DebugSession::current()->events;
  if (events == nullptr) abort_debug_code("events are told by rdb replay only");
  return *events;
}

uint64_t refuse(const std::string& why) {
  print_error("rdb: an event was not registered: {}\n", why);
  return 0;
}

} // namespace

EventApi::EventApi(DebugSession& session, Events& events, Regions& regions, RegionRunner& runner,
                   replay::Replayer& replayer, const replay::Backtracer::LineMap& lines)
    : session_(session), events_(events), regions_(regions), runner_(runner), replayer_(replayer),
      backtracer_(replayer) {
  backtracer_.set_line_map(lines);
  session.events = this;
}

EventApi::~EventApi() {
  session_.events = nullptr;
}

uint64_t EventApi::add(rdb_event_kind kind, const char* name, const void* address, size_t size, unsigned how,
                       rdb_callback callback, void* data) {
  if (callback == nullptr) return refuse("there is no callback");
  replayer_.ask_to_settle();
  auto side = static_cast<EventKind>(kind);
  Teller& teller = tellers_.emplace_back(Teller{this, callback, data, {.place = kCallbackPlace}});
  teller.count.callback = tellers_.size();
  auto tell_it = [this, &teller](replay::Replayer&, const Event& event) { tell(teller, event); };
  bool is_function = kind == RDB_CALL || kind == RDB_RETURN;
  FastCallback fast{.teller = &teller, .is_ready = nullptr, .tell = &tell_fast};
  if (is_function && regions_.is_plain(reinterpret_cast<const void*>(callback))) fast.is_ready = &is_ready;
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
    if (name != nullptr) return events_.on_function(side, std::string(name), tell_it, fast);
    if (replayer_.space().find(place.value) == nullptr)
      return refuse(fmt::format("{} is no address of the program", address));
    return events_.on_function(side, place, tell_it, fast);
  case RDB_ACCESS_BEFORE:
  case RDB_ACCESS_AFTER:
    if (size == 0 || place.value + size < place.value ||
        !replayer_.space().in_guest_range(place.value, place.value + size))
      return refuse(fmt::format("{} bytes at {} are not the program's memory", size, address));
    return events_.on_access(side, place, size, how & RDB_MODULE_READS, how & RDB_MODULE_WRITES, tell_it);
  case RDB_TIME:
    if (Time(size) < replayer_.now())
      return refuse(fmt::format("time {} is over: it is {}", size, replayer_.now().value));
    return events_.on_time(Time(size), tell_it);
  default:
    return events_.on(side, tell_it);
  }
}

void EventApi::tell(Teller& teller, const Event& event) {
  if (!teller.count.disabled.empty()) return;
  regions_.use_thread_locals(replayer_);
  describe(event, teller.data);
  runner_.run(teller.count, reinterpret_cast<RegionRunner::DebugFunction>(teller.callback), &told_);
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

size_t EventApi::backtrace(const void** addresses, size_t most) {
  std::vector<replay::BacktraceFrame> frames = backtracer_.frames(most);
  for (size_t i = 0; i < frames.size(); ++i)
    addresses[i] = frames[i].pc.ptr();
  return frames.size();
}

void fill_events(rdb_module_host& host) {
  host.add_event = [](int kind, const char* name, const void* address, unsigned long size, unsigned how,
                      void (*callback)(const rdb_event*), void* data) -> unsigned long {
    return api().add(static_cast<rdb_event_kind>(kind), name, address, size, how, callback, data);
  };
  host.remove_event = [](unsigned long id) { return api().remove(id) ? 0 : -1; };
  host.time = []() -> unsigned long { return api().replayer().now().value; };
  host.thread = [] { return static_cast<int>(api().replayer().thread().value); };
  host.read = [](const void* from, void* to, unsigned long size) -> unsigned long {
    return api().replayer().space().read(GuestAddr(reinterpret_cast<uint64_t>(from)), to, size);
  };
  host.where = [](const void* address) { return api().where(address); };
  host.print_backtrace = [] { api().print_backtrace(); };
  host.backtrace = [](const void** addresses, unsigned long most) -> unsigned long {
    return api().backtrace(addresses, most);
  };
  host.vector_register = [](unsigned index, unsigned char* to) {
    std::byte whole[64] = {};
    if (index < 16) api().replayer().translator().read_vector(index, whole);
    std::memcpy(to, whole, 16);
  };
  host.stack_pointer = []() -> const void* {
    return GuestAddr(api().replayer().registers().gpr[engine::RSP]).ptr();
  };
}

} // namespace rdb::debug
