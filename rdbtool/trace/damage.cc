// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/damage.h"

#include "rdbtool/trace/file_io.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace rdb::trace {
namespace {

// The process and those that it was forked from.
std::vector<const ProcessInfo*> lineage(const TraceReader& trace, const ProcessInfo& process) {
  std::vector<const ProcessInfo*> result = {&process};
  const std::vector<ProcessInfo>& all = trace.processes();
  while (result.back()->origin == ProcessOrigin::forked && result.size() <= all.size()) {
    auto parent = std::ranges::find(all, result.back()->parent, &ProcessInfo::name);
    if (parent == all.end()) break; // the replay says so
    result.push_back(&*parent);
  }
  return result;
}

} // namespace

void check_files(const TraceReader& trace, const ProcessInfo& process) {
  std::set<ContentId> seen;
  for (const ProcessInfo* one : lineage(trace, process)) {
    InputReader inputs = trace.inputs(*one);
    while (const Input* input = inputs.next()) {
      if (input->kind() != InputKind::map) continue;
      const auto& map = input->as<MapInput>();
      if (map.op == MapOp::map && map.has_file && seen.insert(map.file).second)
        OwnedFd(trace.files().open(map.file));
    }
  }
}

bool is_damaged(const TraceReader& trace, const LogEnd& end) {
  if (end.kind == LogEnd::Kind::damaged) return true;
  // A recorder whose disk is full may not even be able to close its logs.
  bool finished = trace.metadata().state == TraceState::finished;
  return end.kind == LogEnd::Kind::cut && finished && trace.metadata().end.kind != EndKind::disk_full;
}

std::string find_damage(const TraceReader& trace, const ProcessInfo& process) {
  Time needed(UINT64_MAX); // an ancestor counts up to the fork
  for (const ProcessInfo* one : lineage(trace, process)) {
    RunReader run = trace.run(*one);
    Time last;
    while (const Step* step = run.next())
      last = step->until;
    if (last < needed && is_damaged(trace, run.end()))
      return fmt::format("the recording ends at time {}: {}", last.value, run.end().describe());
    needed = one->parent_time;
  }
  return "";
}

} // namespace rdb::trace
