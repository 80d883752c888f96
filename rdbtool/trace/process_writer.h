// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the logs of one process.
#pragma once

#include "rdbtool/trace/format/input.h"
#include "rdbtool/trace/format/log_end.h"

#include <memory>
#include <string>

namespace rdb::trace {

struct RingSettled;

// Records go through here in the order in which they happened.
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
  friend class RingReader;
  struct State;
  explicit ProcessWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace rdb::trace
