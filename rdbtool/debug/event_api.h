// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events for debug code: what stands behind <rdb/events.h>. Callbacks are run like regions, and given up like
// them when they misbehave.
#pragma once

#include "rdbtool/debug/events.h"
#include "rdbtool/debug/region_runner.h"
#include "rdbtool/debug/regions.h"
#include "rdbtool/replay/backtrace.h"
#include "runtime-libs/include/rdb/events.h"

#include <deque>
#include <string>

struct rdb_module_host;

namespace rdb::debug {

class EventApi {
public:
  // `regions`: those of the same debug code.
  EventApi(Events& events, Regions& regions, RegionRunner& runner, replay::Replayer& replayer,
           const replay::Backtracer::LineMap& lines);
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
  void tell(RegionCount& count, const Event& event, rdb_callback callback, void* data);

  Events& events_;
  Regions& regions_;
  RegionRunner& runner_;
  replay::Replayer& replayer_;
  replay::Backtracer backtracer_;
  std::deque<RegionCount> counts_;
  std::string where_;
  rdb_registers registers_ = {};
};

// Fills the part of the table that is about events.
void fill_events(rdb_module_host& host);

} // namespace rdb::debug
