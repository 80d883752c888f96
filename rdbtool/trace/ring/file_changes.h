// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that one recorded process changes by a call while another one has them mapped.
//
// The problem: a mapping shows what the file holds now. So what one process writes appears in the memory of
// another, between any two of its instructions, and is not in that one's log.
//
// The trick is that the others do not execute any instruction while the file changes:
//   - The consumer knows which files every process has mapped, as it copies them into the trace. In the ring
//   of
//     each process there is a filter of those that others have mapped: a process that writes to one of them
//     says so first (begin).
//   - Those that have the file mapped then have a word set in their rings (FileFlags::holds). They look at it
//     before they let the guest run, and wait until it is zero.
//   - The one that writes waits until all threads of the others sleep. A thread that sleeps is in a call, and
//     sees the word when it comes back. (One that runs is waited for: it looks at the word soon.)
//   - Then it writes, and says what it has changed (end). The others go on, and first put into their logs
//   what
//     their memory holds there now.
// A process that dies in the middle of it is taken to have changed the whole file.
#pragma once

#include "rdbtool/trace/ring/ring.h"

#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace rdb::trace {

// Of one process.
class MappedFiles {
public:
  explicit MappedFiles(FileFlags& flags) : flags_(flags) {}
  // It has begun its log. One that was not forked has nothing of what its parent has mapped.
  void set_process(int32_t pid, bool forked);
  // The processes that hold on for its change; 0: it is gone, or has not begun to run.
  int32_t held_process(size_t index) const;
  // A change that others have made, once.
  bool take_change(FilePart& part);

private:
  friend class FileChanges;
  using File = std::pair<uint64_t, uint64_t>; // device and inode
  bool has(const File& file) const { return files_.contains(file) || inherited_.contains(file); }
  void show(const File& file);

  FileFlags& flags_;
  int32_t pid_ = 0;
  std::set<File> files_;     // ever mapped: more than it has mapped now, which costs others a little time
  std::set<File> inherited_; // by its parent, when it was made
  bool is_changing_ = false; // this file:
  File changing_;
  std::vector<MappedFiles*> held_; // meanwhile; null: it has ended
  std::deque<FilePart> changes_;
};

// Of all.
class FileChanges {
public:
  // `parent`: null if it has none.
  void add(MappedFiles& process, const MappedFiles* parent);
  // It executes nothing any more.
  void remove(MappedFiles& process);
  // The process has mapped what the descriptor stands for.
  void map(MappedFiles& process, int fd);
  // The number of others that have it mapped.
  size_t begin(MappedFiles& writer, const FilePart& part);
  void end(MappedFiles& writer, const FilePart& part);

private:
  static void hold(MappedFiles& writer, MappedFiles& other);

  std::vector<MappedFiles*> processes_;
};

} // namespace rdb::trace
