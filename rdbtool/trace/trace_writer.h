// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the directory that is a trace. The rdb record parent owns one TraceWriter; LogConsumer feeds it from
// the rings, and tests and tools may append to a ProcessWriter directly.
#pragma once

#include "rdbtool/trace/format/input.h"
#include "rdbtool/trace/format/metadata.h"
#include "rdbtool/trace/process_writer.h"
#include "rdbtool/trace/store.h"

#include <memory>
#include <string>

namespace rdb::trace {

class TraceWriter {
public:
  // Makes `directory`, or a new prog-N in trace_root() if it is empty, mode 0700, with metadata.json in state
  // "running". Fills in metadata.id, .format, .started_unix_ns, .kernel and .cpu.
  // Throws UserError if the directory exists or cannot be made.
  TraceWriter(Metadata metadata, const std::string& directory = {});
  ~TraceWriter();

  const std::string& path() const;
  Metadata& metadata();
  ContentStore& files();

  // A folder for the process image that `start` describes: PID, or PID.2 for its second image and so on.
  // The start record itself is appended by the caller.
  // `parent` is the folder of the process that forked or execed. The writer must outlive the ProcessWriter.
  // With the first one `latest` is pointed at the trace.
  std::unique_ptr<ProcessWriter> add_process(const StartInput& start, const std::string& parent = {});

  // Whether anything was ever recorded.
  bool has_process() const;

  // Gives back the space kept for the final metadata: the disk is full.
  void release_reserve();

  // Notes that `path` was mapped: it is listed, with its build-id, in the metadata.
  void note_file(const ContentId& id, std::string_view path);

  // Writes the final metadata in place of the first. On a full disk a reserve kept for it is given back
  // first.
  void finish(const TraceEnd& end);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace rdb::trace
