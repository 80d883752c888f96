// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Answers system calls from the log without leaving translated code. The calls are read ahead of time, and
// each is checked as strictly as any other. Whatever is not as expected is left to the complete path
// (answer_call.cc), which says what is wrong.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/trace/trace_reader.h"

namespace rdb::replay {

struct FastAnswers {
  const guest::AddressSpace* space = nullptr;
  const trace::LoggedCall* next = nullptr; // the call that the guest must make next
  const trace::LoggedCall* end = nullptr;

  bool empty() const { return next == end; }
};

// Whether a call may be answered this way: it concerns nothing but registers and memory.
bool can_answer_fast(const trace::SyscallInput& call);

engine::FastSyscall make_fast_syscall(FastAnswers& answers);

} // namespace rdb::replay
