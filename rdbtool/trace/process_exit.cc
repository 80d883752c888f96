// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/process_exit.h"

#include <algorithm>

namespace rdb::trace {

bool goes_on(const TraceReader& trace, const ProcessInfo& process) {
  return std::ranges::any_of(trace.processes(), [&](const ProcessInfo& other) {
    return other.origin == ProcessOrigin::kExeced && other.parent == process.name && other.pid == process.pid;
  });
}

std::optional<ExitInput> exit_of(const TraceReader& trace, const ProcessInfo& process) {
  InputReader inputs = trace.inputs(process);
  inputs.seek(inputs.last_time());
  std::optional<ExitInput> exit;
  while (const Input* input = inputs.next())
    if (input->kind() == InputKind::kExit) exit = input->as<ExitInput>();
  return exit;
}

} // namespace rdb::trace
