// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the directory that is a trace. The rdb record parent owns one TraceWriter; LogConsumer feeds it from
// the rings, and tests and tools may append to a ProcessWriter directly.
#pragma once

#include "rdbtool/trace/input.h"
#include "rdbtool/trace/log_end.h"
#include "rdbtool/trace/metadata.h"
#include "rdbtool/trace/store.h"

#include <memory>
#include <string>

namespace rdb::trace {

struct RingSettled;

// The logs of one process. Records go through here in the order in which they happened.
class ProcessWriter {
public:
  ~ProcessWriter();
  // Throws std::system_error when the files cannot be written; they then end with their last whole block.
  // Throws Bug for what cannot be a record: a time that goes back, a first record that is no StartInput, a
  // turn that ends before its last input. Turns begin at the time of the StartInput.
  void append(const Input& input);
  void append(const Chunk& chunk);
  // Writes what is buffered as a block of its own. Both logs are written together, chunks first.
  void flush();
  // Writes the last block.
  void close(LogClose how);
  // The same without what is buffered: for a disk that has just refused it.
  void abandon(LogClose how);

  // Gives back the memory of empty buffers, for a process that sleeps.
  void release_buffers();

  // Where the log files end and what it takes to go on there; nothing must be buffered.
  RingSettled settled() const;

  size_t buffered() const;         // bytes not written yet
  size_t memory() const;           // of the buffers
  uint64_t size() const;           // of the files
  Time last_time() const;          // of the last input or chunk end
  const std::string& name() const; // of the folder

private:
  friend class TraceWriter;
  friend struct RingReader;
  struct State;
  explicit ProcessWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class TraceWriter {
public:
  // Makes `directory`, or a new prog-N in trace_root() if it is empty, mode 0700, with metadata.json in state
  // "running"; points `latest` at it. Fills in metadata.id, .format, .started_unix_ns, .kernel and .cpu.
  // Throws UserError if the directory exists or cannot be made.
  TraceWriter(Metadata metadata, const std::string& directory = {});
  ~TraceWriter();

  const std::string& path() const;
  Metadata& metadata();
  ContentStore& files();

  // A folder for the process image that `start` describes: PID, or PID.2 for its second image and so on.
  // The start record itself is appended by the caller.
  // `parent` is the folder of the process that forked or execed. The writer must outlive the ProcessWriter.
  std::unique_ptr<ProcessWriter> add_process(const StartInput& start, const std::string& parent = {});

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
