// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs debug code that needs neither FS nor vector registers (see plain_code.h) while those are the guest's.
// Compiled for general registers only, without stack protector; until leave_fast_hook() is called nothing
// may be called that is not (see CMakeLists.txt), libc's functions least of all.
#include "rdbtool/debug/regions/regions.h"

namespace rdb::debug {

// Called by the module in front of everything that needs libc.
void RegionRunner::use_libc() {
  if (fast_runner_ == nullptr) return;
  engine::Translator& translator = fast_runner_->replayer_->translator();
  if (!translator.in_fast_hook()) return;
  translator.leave_fast_hook();
  fast_runner_->begin_libc();
}

void RegionRunner::run_fast(RegionCount& count, Code code, void* argument, AskError error, void* context) {
  fallback_.enter(count);
  ++count.hits;
  fast_.error = error;
  fast_.context = context;
  fast_runner_ = this;
  running.fast = &replayer_->translator();
  Escape escape;
  if (__builtin_setjmp(escape.place) == 0) {
    running.escape = &escape;
    ++running.number;
    code(argument);
  }
  running.escape = nullptr;
  running.fast = nullptr;
  fast_runner_ = nullptr;
  engine::Translator& translator = replayer_->translator();
  if (!translator.in_fast_hook() || may_be_pending(stdout) || may_be_pending(stderr)) {
    translator.leave_fast_hook();
    end_fast(count, !escape.taken);
  }
  fallback_.leave();
}

// At a place with one region and nothing else. False: it has to be run the long way.
bool Regions::arrive_fast(void* context, void* where, uint64_t) {
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
  if (!regions.runner_.may_run_fast()) return false;
  void** values = site.values.data();
  for (FastArgument& argument : site.fast) {
    uint64_t value = *argument.base + argument.offset;
    argument.copy = value;
    *values++ = argument.is_address ? reinterpret_cast<void*>(value) : &argument.copy;
  }
  regions.runner_.run_fast(count, reinterpret_cast<RegionRunner::Code>(site.function), site.values.data(),
                           &errno_now, &regions);
  return true;
}

} // namespace rdb::debug
