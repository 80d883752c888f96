// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs outside the recording can change memory that is mapped shared, at any moment and without an entry
// in the log. The kernel does not report when they do; but it says who has a file mapped, that somebody opens
// one or writes to it, and who was the last to attach a segment. What is found is reported once for each
// file: most programs are not affected, because nobody writes there, or only what arrives in another way too.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/process/machine.h"

#include <functional>
#include <map>
#include <string>

namespace rdb::record {

class OutsideWriters {
public:
  // Whether this process is recorded, too; of 0, whether any other is or was.
  using IsRecorded = std::function<bool(int32_t pid)>;
  // Whether recorded processes share the file, so that each knows what the others write.
  using IsShared = std::function<bool(uint64_t device, uint64_t inode)>;
  // What is found is told to this, too, with the file's name.
  using Note = std::function<void(const std::string& name)>;
  OutsideWriters(IsRecorded is_recorded, IsShared is_shared, Note note)
      : is_recorded_(std::move(is_recorded)), is_shared_(std::move(is_shared)), note_(std::move(note)) {}
  ~OutsideWriters() { forget(); }
  OutsideWriters(const OutsideWriters&) = delete;
  OutsideWriters& operator=(const OutsideWriters&) = delete;

  // This was mapped shared, by this descriptor; -1: it is a segment.
  void mapped(const guest::Mapping& mapping, int fd);
  bool any() const { return !files_.empty(); }
  // After a call of this process; `changed_inode`: of the mapped file that it has changed, or 0.
  void look(const guest::SystemCall& call, int64_t result, uint64_t changed_inode);
  // Mappings have changed: what is not there any more does not matter.
  void mappings_changed(const guest::AddressSpace& space);
  // rdb itself has opened a file.
  void skip_own();
  // At the end: who has them mapped now.
  void look_again();
  // In a forked child.
  void forget();

private:
  struct WatchedFile {
    uint64_t device = 0;
    uint64_t inode = 0; // a segment's number
    std::string name;
    bool segment = false;
    bool open_matters = false; // somebody who opens it may map it and write there
    bool told = false;
  };
  void look_at_events(const guest::SystemCall& call, int64_t result, uint64_t changed_inode);
  void look_at_segment(WatchedFile& file);
  bool name_process(WatchedFile& file);
  void tell(WatchedFile& file, const std::string& who);

  IsRecorded is_recorded_;
  IsShared is_shared_;
  Note note_;
  int notifications_ = -1; // of inotify
  std::map<int, WatchedFile>
      files_; // by the kernel's number for what it watches; segments have negative ones
  bool has_segments_ = false;
};

} // namespace rdb::record
