// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that changes a file tells the other recorded processes that have it mapped, and waits until none
// of them executes an instruction: see trace/ring/file_changes.h.
#pragma once

#include "rdbtool/record/mapped_files.h"
#include "rdbtool/trace/ring/log_producer.h"

namespace rdb::record {

class FileChangeNotice {
public:
  explicit FileChangeNotice(trace::LogProducer& log) : log_(log) {}

  // Before the call. True if anybody holds on: then end() must follow the call.
  bool begin(uint64_t device, uint64_t inode);
  void end(uint64_t device, uint64_t inode, FileChange::Range changed);

private:
  trace::LogProducer& log_;
};

} // namespace rdb::record
