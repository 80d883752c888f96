// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace: what was recorded, its processes, and their logs. Opening what is no trace, or another version's,
// is a UserError.
#pragma once

#include "rdbtool/trace/format/metadata.h"
#include "rdbtool/trace/format/process_info.h"
#include "rdbtool/trace/log_reader.h"
#include "rdbtool/trace/run_reader.h"
#include "rdbtool/trace/store.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::trace {

enum class LogKind : uint8_t;

class TraceReader {
public:
  // `name`: a directory, the name of a trace in trace_root(), or empty for the latest.
  explicit TraceReader(const std::string& name);
  ~TraceReader();

  const std::string& path() const;
  const Metadata& metadata() const;
  // In the order in which they started; the first is the one that rdb record spawned.
  const std::vector<ProcessInfo>& processes() const;

  InputReader inputs(const ProcessInfo& process) const;
  ChunkReader chunks(const ProcessInfo& process) const;
  RunReader run(const ProcessInfo& process) const;
  const ContentStore& files() const;
  // What belongs to the end of a log and is not in its file; null if there is nothing. See block_reader.h.
  std::shared_ptr<const LogTail> tail(const ProcessInfo& process, LogKind kind) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace rdb::trace
