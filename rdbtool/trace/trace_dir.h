// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where traces live and what they are called: prog-N in $RDB_TRACE_DIR, else $XDG_DATA_HOME/rdb, else
// ~/.local/share/rdb, with a link `latest` to the newest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdb::trace {

// The directory of all traces. Not made here.
std::string trace_root();

// Finds a trace by what a user typed: a path with a slash in it, a name in trace_root() or in this folder,
// nothing for the latest. Throws UserError saying where it looked, also if both places have one of that name.
std::string find_trace(const std::string& name);

// The same path, but never a bare name, which find_trace() would look for in the trace root.
std::string as_path(const std::string& path);

// Throws UserError if no trace can be made in a directory of this name.
void check_new_trace(const std::string& directory);

// Makes a new directory `program`-N in trace_root(), mode 0700, N the first that is free after all others.
std::string make_trace_directory(const std::string& program);

// Points `latest` in trace_root() at `path` if it lies in it.
void set_latest(const std::string& path);

// The names of all traces in trace_root(), oldest first.
std::vector<std::string> list_traces();

// Throws UserError if this is not surely a trace, holds anything that is not a trace's, or is being recorded.
void check_removable(const std::string& path);

// Deletes a trace that is removable and, if it was the latest, moves the link on to the newest left.
void remove_trace(const std::string& path);

// Held by the recorder for as long as it lives; released by its death, never inherited by fork.
class RecorderLock {
public:
  explicit RecorderLock(const std::string& trace_path);
  ~RecorderLock();
  RecorderLock(const RecorderLock&) = delete;
  RecorderLock& operator=(const RecorderLock&) = delete;
  // The pid of the recorder at work on a trace, or 0.
  static int holder(const std::string& trace_path);

private:
  int fd_ = -1;
};

// Bytes on disk of all files below `path`.
uint64_t directory_size(const std::string& path);

} // namespace rdb::trace
