// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sendfile, splice and copy_file_range move bytes that never pass through guest memory. Where they go to the
// terminal, replay can show them only if they are in the log: this reads them a second time.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/record/recorded_baton.h"

#include <vector>

namespace rdb::record {

class PassedOutput {
public:
  PassedOutput() = default;
  ~PassedOutput();
  PassedOutput(const PassedOutput&) = delete;
  PassedOutput& operator=(const PassedOutput&) = delete;

  // Before the call is made. `arguments` are those for the kernel; what comes out of a pipe is copied first,
  // and no more of it may be moved than was copied. A result other than 0 is that of the call, which is then
  // over.
  int64_t before(guest::Machine& machine, RecordedBaton& baton, const guest::SystemCall& call,
                 trace::OutputStream stream, SyscallArgs& arguments);
  // After it: the bytes that were moved.
  const std::vector<uint8_t>& after(int64_t result);

  trace::OutputStream stream() const { return stream_; }

private:
  int64_t copy_pipe(RecordedBaton& baton, int fd, uint64_t flags, SyscallArgs& arguments);

  trace::OutputStream stream_ = trace::OutputStream::none;
  int source_ = -1; // the file that is read, or the end of `pipe_`
  uint64_t offset_ = 0;
  bool from_pipe_ = false;
  int pipe_[2] = {-1, -1}; // made when first needed
  std::vector<uint8_t> bytes_;
};

} // namespace rdb::record
