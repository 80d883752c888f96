// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs debug code that needs neither FS nor vector registers (see plain_code.h) while those are the guest's.
// Compiled for general registers only, without stack protector; until leave_quick_hook() is called nothing
// may be called that is not (see CMakeLists.txt), libc's functions least of all.
#include "rdbtool/debug/regions.h"

namespace rdb::debug {

// Called by the module in front of everything that needs libc.
void RegionRunner::use_libc() {
  if (quick_runner_ == nullptr) return;
  engine::Translator& translator = quick_runner_->replayer_->translator();
  if (!translator.in_quick_hook()) return;
  translator.leave_quick_hook();
  quick_runner_->begin_libc();
}

void RegionRunner::run_quickly(RegionCount& count, Code code, void* argument, AskError error, void* context) {
  fallback_.enter(count);
  ++count.hits;
  quick_.error = error;
  quick_.context = context;
  quick_runner_ = this;
  running.quick = &replayer_->translator();
  Escape escape;
  if (__builtin_setjmp(escape.place) == 0) {
    running.escape = &escape;
    ++running.number;
    code(argument);
  }
  running.escape = nullptr;
  running.quick = nullptr;
  quick_runner_ = nullptr;
  engine::Translator& translator = replayer_->translator();
  if (!translator.in_quick_hook() || may_be_pending(stdout) || may_be_pending(stderr)) {
    translator.leave_quick_hook();
    end_quick(count, !escape.taken);
  }
  fallback_.leave();
}

// At a place with one region and nothing else. False: it has to be run the long way.
bool Regions::arrive_quickly(void* context, void* where, uint64_t) {
  auto& place = *static_cast<Place*>(where);
  Regions& regions = *place.regions;
  if (place.before.size() != 1 || !place.after.empty() || !place.activations.empty()) return false;
  Site& site = place.before.front();
  auto& replayer = *static_cast<replay::Replayer*>(context);
  RegionCount& count = *site.count;
  const RegionOptions& options = regions.options_;
  uint64_t now = replayer.translator().executed();
  if (!count.disabled.empty() || count.hits >= options.max_hits || now < options.from || now > options.to)
    return true;
  if (!regions.runner_.may_run_quickly()) return false;
  void** values = site.values.data();
  for (QuickArgument& argument : site.quick) {
    uint64_t value = *argument.base + argument.offset;
    argument.copy = value;
    *values++ = argument.is_address ? reinterpret_cast<void*>(value) : &argument.copy;
  }
  regions.runner_.run_quickly(count, reinterpret_cast<RegionRunner::Code>(site.function), site.values.data(),
                              &errno_now, &regions);
  return true;
}

} // namespace rdb::debug
