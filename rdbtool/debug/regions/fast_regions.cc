// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs debug code that needs neither FS nor vector registers (see plain_code.h) while those are the guest's.
// Compiled for general registers only, without stack protector; until leave_fast_hook() is called nothing
// may be called that is not (see CMakeLists.txt), libc's functions least of all.
#include "rdbtool/debug/regions/regions.h"

namespace rdb::debug {

void RegionRunner::use_libc() {
  engine::Translator* fast = DebugSession::run.fast;
  if (fast == nullptr || !fast->in_fast_hook()) return;
  fast->leave_fast_hook();
  DebugSession::current()->runner->begin_libc();
}

void RegionRunner::run_fast(RegionCount& count, DebugFunction function, void* argument, Errno error) {
  CurrentRun& run = DebugSession::run;
  crash_recovery_.enter(count);
  ++count.hits;
  fast_errno_ = error;
  run.fast = &replayer_->translator();
  AbortPoint abort_point;
  if (__builtin_setjmp(abort_point.jump_buffer) == 0) {
    run.abort_point = &abort_point;
    ++run.number;
    function(argument);
  }
  run.abort_point = nullptr;
  run.fast = nullptr;
  engine::Translator& translator = replayer_->translator();
  if (!translator.in_fast_hook() || DebugOutput::may_be_pending(stdout) ||
      DebugOutput::may_be_pending(stderr)) {
    translator.leave_fast_hook();
    end_fast(count, !abort_point.taken);
  }
  crash_recovery_.leave();
}

// At an address with one region and nothing else to do. False: it has to take the complete path.
bool Regions::arrive_fast(void* context, void* argument, uint64_t) {
  auto& hooked = *static_cast<HookedAddress*>(argument);
  Regions& regions = *hooked.regions;
  if (!hooked.is_simple()) return false;
  RegionInstance& instance = hooked.before.front();
  RegionCount& count = *instance.count;
  uint64_t now = static_cast<replay::Replayer*>(context)->translator().executed();
  if (!regions.selection_.allows(count, now)) return true;
  if (!regions.runner_.may_run_fast()) return false;
  void** values = instance.values.data();
  for (FastArgument& value : instance.fast)
    *values++ = value.fetch();
  regions.runner_.run_fast(count, reinterpret_cast<RegionRunner::DebugFunction>(instance.function),
                           instance.values.data(), RegionRunner::Errno::of_thread);
  return true;
}

} // namespace rdb::debug
