// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory that a process has mapped at several places, on replay.
//
// The problem: a replay has private memory in the place of files and of shared memory, one piece for each
// mapping. If a program maps one object twice (java's ZGC does it three times, and JITs have a view to write
// and a view to execute), what it stores through one view must show in the other, and private pieces do not.
//
// The trick: from the second mapping on, the log says which mappings are views of which object. The replay
// makes a memory file for it and maps that. What the program stores is then where it was in the recording.
// The content of the object's other parts is never needed: when a part comes into view that no view had, the
// log says what it holds, and everything else of it is zero.
//
// Copies of the replay's process (gdb's snapshots) would share that memory. So fork_copy() gives the child
// objects of its own.
#pragma once

#include "rdbtool/guest/memory/layout.h"

#include <cstdint>
#include <map>
#include <set>
#include <sys/types.h>
#include <vector>

namespace rdb::guest {

class AddressSpace;
struct Mapping;

class ObjectViews {
public:
  ObjectViews() = default;
  ~ObjectViews();
  ObjectViews(const ObjectViews&) = delete;
  ObjectViews& operator=(const ObjectViews&) = delete;

  bool any() const { return !files_.empty(); }
  // The file of an object, at least so long; it is made when it is asked for first.
  int file(uint64_t object, uint64_t size);
  // Closes those of all other objects.
  void keep_only(const std::set<uint64_t>& used);

  // Around a fork: copies of all files, which the child then has in their place.
  void make_copies();
  std::map<uint64_t, int> take_copies();
  void drop_copies();

private:
  std::map<uint64_t, int> files_; // by object
  std::map<uint64_t, int> copies_;
};

// The parts of [begin, end) of a shared object that no mapping of these has.
std::vector<AddressRange> parts_without_view(const std::vector<Mapping>& views, uint64_t begin, uint64_t end);

// Makes this part of an object's file zero.
void clear_object(int fd, const AddressRange& part);

// fork() for a process that replays: what the child does to memory, the parent does not see.
pid_t fork_copy(AddressSpace& space);

} // namespace rdb::guest
