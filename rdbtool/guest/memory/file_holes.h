// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looking at mapped files without reading more of them than there is.
#pragma once

#include "rdbtool/guest/memory/address_space.h"

namespace rdb::guest {

// Mapping::copy of a part that is no file on replay.
inline constexpr int kNoFile = -2;

// Where a mapped file has holes, as far as a descriptor of it can be found.
class FileHoles {
public:
  explicit FileHoles(const Mapping& mapping);
  ~FileHoles();
  FileHoles(const FileHoles&) = delete;
  FileHoles& operator=(const FileHoles&) = delete;

  bool known() const { return fd_ >= 0; }
  // The first page from this one on that is not a hole of the file.
  uint64_t next_data(uint64_t page) const;

private:
  Mapping mapping_;
  int fd_;
};

// A descriptor of the file that is mapped there, by its name or by one that the guest has; -1: none.
int open_mapped_file(const Mapping& mapping);

// Whether this process has the file open for writing.
bool is_open_for_writing(uint64_t device, uint64_t inode);

// Lets rdb read memory that the guest may not read.
class ReadableMeanwhile {
public:
  ReadableMeanwhile(const Mapping& mapping, uint64_t begin, uint64_t end);
  ~ReadableMeanwhile();
  ReadableMeanwhile(const ReadableMeanwhile&) = delete;
  ReadableMeanwhile& operator=(const ReadableMeanwhile&) = delete;

private:
  uint64_t begin_;
  uint64_t size_ = 0; // 0: nothing was changed
  int protection_;
};

} // namespace rdb::guest
