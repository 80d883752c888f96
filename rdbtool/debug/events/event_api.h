// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events for debug code: what stands behind <rdb/events.h>. Callbacks are run like regions, and given up like
// them when they misbehave.
#pragma once

#include "rdbtool/debug/events/events.h"
#include "rdbtool/debug/regions/region_runner.h"
#include "rdbtool/debug/regions/regions.h"
#include "rdbtool/replay/backtrace.h"
#include "runtime-libs/include/rdb/events.h"

#include <deque>
#include <string>

struct rdb_module_host;

namespace rdb::debug {

class EventApi {
public:
  // `regions`: those of the same debug code.
  EventApi(DebugSession& session, Events& events, Regions& regions, RegionRunner& runner,
           replay::Replayer& replayer, const replay::Backtracer::LineMap& lines);
  ~EventApi();
  EventApi(const EventApi&) = delete;
  EventApi& operator=(const EventApi&) = delete;

  uint64_t add(rdb_event_kind kind, const char* name, const void* address, size_t size, unsigned how,
               rdb_callback callback, void* data);
  bool remove(uint64_t id) {
    replayer_.ask_to_settle();
    return events_.remove(id);
  }
  const char* where(const void* address);
  void print_backtrace();
  size_t backtrace(const void** addresses, size_t most);
  replay::Replayer& replayer() { return replayer_; }

private:
  // A callback that debug code has registered.
  struct Teller {
    EventApi* api;
    rdb_callback callback;
    void* data;
    RegionCount count;
  };
  void tell(Teller& teller, const Event& event);
  void describe(const Event& event, void* data);
  // For fast hooks: see fast_events.cc.
  static bool is_ready(void* teller);
  static void tell_fast(void* teller, const Event& event);

  DebugSession& session_;
  Events& events_;
  Regions& regions_;
  RegionRunner& runner_;
  replay::Replayer& replayer_;
  replay::Backtracer backtracer_;
  std::deque<Teller> tellers_;
  std::string where_;
  rdb_registers registers_ = {};
  rdb_event told_ = {};
};

// What debug code is told.
inline void EventApi::describe(const Event& event, void* data) {
  const auto* from = reinterpret_cast<const uint64_t*>(&replayer_.translator().registers());
  auto* to = reinterpret_cast<uint64_t*>(&registers_);
  for (size_t i = 0; i < sizeof registers_ / sizeof *to; ++i)
    to[i] = from[i];
  const std::byte* old_bytes = event.old_bytes.data();
  const bool access = event.size > 0;
  rdb_event& told = told_;
  told.kind = static_cast<rdb_event_kind>(event.kind);
  told.thread = static_cast<int>(replayer_.thread().value);
  told.time = replayer_.translator().executed();
  told.registers = &registers_;
  told.pc = event.pc.ptr();
  told.number = event.number;
  for (int i = 0; i < 6; ++i)
    told.arguments[i] = event.arguments[i];
  told.result = event.result;
  told.address = event.address.ptr();
  told.size = event.size;
  told.is_write = event.write;
  told.by_system_call = event.by_system_call;
  told.touched = access ? event.touched.ptr() : nullptr;
  told.touched_size = event.touched_size;
  told.old_bytes =
      access && event.bytes_at == event.address ? reinterpret_cast<const unsigned char*>(old_bytes) : nullptr;
  told.new_bytes = access ? event.address.ptr<unsigned char>() : nullptr;
  told.touched_old =
      access ? reinterpret_cast<const unsigned char*>(old_bytes) + (event.touched - event.bytes_at) : nullptr;
  told.function = event.name;
  told.data = data;
}

// Fills the part of the table that is about events.
void fill_events(rdb_module_host& host);

} // namespace rdb::debug
