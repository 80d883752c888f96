// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Callbacks that run with the guest's FS base and vector registers, like the regions of fast_regions.cc;
// compiled like that.
#include "rdbtool/debug/events/event_api.h"

namespace rdb::debug {
bool EventApi::is_ready(void* self) {
  const auto& teller = *static_cast<Teller*>(self);
  return !teller.api->regions_.has_thread_locals() && teller.api->runner_.may_run_fast();
}

void EventApi::tell_fast(void* self, const Event& event) {
  auto& teller = *static_cast<Teller*>(self);
  if (!teller.count.disabled.empty()) return;
  EventApi& api = *teller.api;
  // The others were saved on the way here.
  asm volatile("rdgsbase %0" : "=r"(api.replayer_.translator().registers().gs_base));
  api.describe(event, teller.data);
  api.runner_.run_fast(teller.count, reinterpret_cast<RegionRunner::DebugFunction>(teller.callback),
                       &api.told_, RegionRunner::Errno::zero);
}

} // namespace rdb::debug
