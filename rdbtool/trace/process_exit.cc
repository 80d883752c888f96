// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/process_exit.h"

namespace rdb::trace {

std::optional<ExitInput> exit_of(const TraceReader& trace, const ProcessInfo& process) {
  InputReader inputs = trace.inputs(process);
  inputs.seek(inputs.last_time());
  std::optional<ExitInput> exit;
  while (const Input* input = inputs.next())
    if (input->kind() == InputKind::kExit) exit = input->as<ExitInput>();
  return exit;
}

} // namespace rdb::trace
