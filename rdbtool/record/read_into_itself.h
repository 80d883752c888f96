// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A read of a file into memory that is mapped from the same file changes what it has yet to read. What comes
// out depends on how the kernel copies, so it must copy to the program's memory itself: scratch memory would
// get the file as it was before.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/syscalls/redirected_call.h"

#include <sys/uio.h>
#include <vector>

namespace rdb::record {

class ReadIntoItself {
public:
  // Before the call: whether it is such a read. Code in the memory that it may write to is forgotten then.
  bool find(const guest::SystemCall& call, Descriptors& descriptors, guest::AddressSpace& space);
  bool found() const { return found_; }
  // With vectors that nobody changes meanwhile.
  SyscallArgs arguments(const guest::SystemCall& call) const;
  // Where it may write.
  const std::vector<iovec>& ranges() const { return ranges_; }
  // What it has written, where it is.
  const std::vector<MemoryWrite>& writes(int64_t result);

private:
  bool found_ = false;
  bool has_vectors_ = false;
  std::vector<iovec> ranges_;
  std::vector<MemoryWrite> writes_;
};

} // namespace rdb::record
