// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The executor of a run that nobody records: the kernel gets the guest's own arguments and writes straight
// into its memory.
#pragma once

#include "rdbtool/guest/calls/fast_syscall.h"
#include "rdbtool/guest/calls/syscall_executor.h"

namespace rdb::guest {

class LiveExecutor final : public SyscallExecutor {
public:
  int64_t execute(Machine& machine, const SystemCall& call, const CallShape& shape, Baton& baton) override;
  int64_t deliver(Machine& machine, const SystemCall& call, const ComputedAnswer& answer) override;
  engine::Engine::InputResult execute_instruction(Machine& machine, engine::InputInstruction kind) override;
  engine::FastSyscall fast_path(Machine& machine, const SeccompFilters& filters) override;

private:
  UnrecordedCalls unrecorded_;
};

} // namespace rdb::guest
