// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frequent system calls, recorded without leaving guest code: the kernel writes straight to plain guest
// memory, and the log gets its copy from there. Whatever is not simple is left to the recorder's long way,
// which also finds out what this one only looks up.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/trace/ring/log_producer.h"

namespace rdb::record {

struct FastRecorder {
  bool enabled = false;
  uint64_t until = UINT64_MAX;       // the long way has something to do from this time on
  guest::Machine* machine = nullptr; // the engine calls only while it has one thread
  const guest::SeccompFilters* filters = nullptr;
  trace::LogProducer* log = nullptr;
  const std::array<Descriptors::Facts, Descriptors::kRemembered>* descriptors = nullptr;
};

engine::FastSyscall make_fast_syscall(FastRecorder& recorder);

} // namespace rdb::record
