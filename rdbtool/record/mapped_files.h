// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that changes while the guest has it mapped changes guest memory too (LMDB and SQLite live on it).
// Replay has private copies of mapped files, so such a change is logged: this finds out which memory a call
// changed by way of a file.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/record/shared_memory/shared_pages.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <vector>

namespace rdb::record {

class FileChange {
public:
  // Before the call is made: notes which mapped file it may change, one that this process has mapped, or
  // one that others have.
  void before(const guest::SystemCall& call, Descriptors& descriptors, guest::AddressSpace& space,
              const SharedPages& shared, const trace::LogProducer& log);

  struct Piece {
    GuestAddr address;
    uint64_t size = 0;
    std::vector<uint8_t> bytes; // none if it is large: most of it may be a hole
  };
  // After it: the guest memory that is different now, with what it holds.
  std::vector<Piece> after(const guest::SystemCall& call, int64_t result, guest::AddressSpace& space) const;

  // After it: the part of the file that has changed, as far as can be told.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    bool empty() const { return begin >= end; }
  };
  Range changed(const guest::SystemCall& call, int64_t result) const;

  bool possible() const { return possible_; }
  // The part of the file that may change.
  const Range& planned() const { return planned_; }
  uint64_t device() const { return device_; } // of the file, if it is possible
  uint64_t inode() const { return inode_; }

private:
  Range plan(const guest::SystemCall& call) const;
  Range written(const guest::SystemCall& call, uint64_t count) const;
  void add_pieces(Range range, guest::AddressSpace& space, std::vector<Piece>& pieces) const;
  uint64_t present_size() const;
  Range at_offset(uint64_t offset, uint64_t count) const;

  bool possible_ = false;
  Range planned_;
  int fd_ = -1; // what is written to; -1: named by a path
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  uint64_t old_size_ = 0;
  uint64_t old_offset_ = 0; // where a call that is given an offset in memory begins
};

} // namespace rdb::record
