// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGKILL that a recorded process sends to itself, to its group, or to all processes. The kernel would kill
// the recorder too, which is in the same group, and would kill the process before its log says how it ended.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <optional>
#include <sys/types.h>

namespace rdb::record {

struct KillCall {
  enum class To : uint8_t { caller, group, all } to = To::caller;
  bool ends_caller() const { return to != To::all; }
};

// The call, if it is one of those.
std::optional<KillCall> kill_call(guest::Machine& machine, const guest::SystemCall& call);

// All others than this process that the call is for, except `spared`. The call's result.
int64_t kill_others(KillCall call, pid_t spared);

} // namespace rdb::record
