// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/programs.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/trace_dir.h"

#include <algorithm>
#include <csignal>

namespace rdb::trace {

const ProcessInfo* next_program(const TraceReader& trace, const ProcessInfo& process) {
  for (const ProcessInfo& other : trace.processes())
    if (other.origin == ProcessOrigin::execed && other.parent == process.name && other.pid == process.pid)
      return &other;
  return nullptr;
}

std::vector<const ProcessInfo*> first_process(const TraceReader& trace) {
  if (trace.processes().empty()) user_error("{}: holds no process", trace.path());
  std::vector<const ProcessInfo*> programs;
  const ProcessInfo* program = &trace.processes().front();
  // As many as there are, whatever a damaged trace says of who followed whom.
  while (program != nullptr && programs.size() < trace.processes().size()) {
    programs.push_back(program);
    program = next_program(trace, *program);
  }
  return programs;
}

const ProcessInfo& program_named(const TraceReader& trace, const std::string& name) {
  if (name.empty()) return *first_process(trace).back();
  auto found = std::ranges::find(trace.processes(), name, &ProcessInfo::name);
  if (found == trace.processes().end())
    user_error("{}: no process {} in it; rdb ps lists them", trace.path(), name);
  return *found;
}

namespace {

// Its recorder was killed, and its processes with it: nobody has written how it ended.
bool lost_its_recorder(const TraceReader& trace) {
  return trace.metadata().state == TraceState::running && RecorderLock::holder(trace.path()) == 0;
}

} // namespace

bool was_killed(const TraceReader& trace, const ProcessInfo& process, const LogEnd& end) {
  if (end.kind == LogEnd::Kind::cut) return lost_its_recorder(trace);
  if (end.kind != LogEnd::Kind::closed || end.close != LogClose::producer_died) return false;
  // Of the first process the recorder knows more: rdb itself may have crashed in it.
  bool is_first = program_named(trace, "").name == process.name;
  return !is_first || trace.metadata().end.kind == EndKind::signalled;
}

std::optional<ExitInput> exit_of(const TraceReader& trace, const ProcessInfo& process) {
  InputReader inputs = trace.inputs(process);
  inputs.seek(inputs.last_time());
  std::optional<ExitInput> exit;
  while (const Input* input = inputs.next())
    if (input->kind() == InputKind::exit) exit = input->as<ExitInput>();
  if (!exit && was_killed(trace, process, inputs.end())) exit = ExitInput{true, SIGKILL};
  return exit;
}

bool met_full_disk(const TraceReader& trace, const ProcessInfo& process) {
  InputReader inputs = trace.inputs(process);
  inputs.seek(inputs.last_time() + 1);
  inputs.next();
  return inputs.end().is_disk_full();
}

Time last_time_of(const TraceReader& trace, const ProcessInfo& process) {
  return std::max(trace.inputs(process).last_time(), trace.chunks(process).last_time());
}

} // namespace rdb::trace
