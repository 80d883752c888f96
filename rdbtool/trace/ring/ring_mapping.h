// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The consumer's view of one ring: makes the memory, hands out what the producer has written, gives room
// back.
#pragma once

#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/log_end.h"
#include "rdbtool/trace/ring/ring.h"

#include <span>
#include <string>

namespace rdb::trace {

// How /proc/PID/maps names a ring that is no file.
inline constexpr const char* kMemoryRing = "/memfd:rdb-log";

class RingMapping {
public:
  // `path`: where the file is made. If it cannot be made or mapped there, or if `path` is empty, the ring is
  // memory that ends with its processes. Throws std::system_error.
  RingMapping(size_t capacity, std::string path);
  ~RingMapping();
  RingMapping(const RingMapping&) = delete;
  RingMapping& operator=(const RingMapping&) = delete;

  // The descriptor to pass to the producer; closed by release_fd() once it has been.
  int fd() const { return fd_.get(); }
  int release_fd() { return fd_.release(); }
  size_t capacity() const { return capacity_; }

  // Whether what is in it outlives its processes.
  bool has_file() const { return !path_.empty(); }
  // The file's new place in the trace; and none any more.
  void move_to(const std::string& path);
  void remove_file();

  // What has been written and not taken. `sound` becomes false if the ring's numbers cannot be.
  std::span<const uint8_t> available(bool& sound);
  uint64_t position() const { return taken_; } // of its first byte, among all that were ever written
  // The first `size` bytes of it are taken; their room is not given back yet.
  void take(size_t size) { taken_ += size; }
  // What was taken since the last time that room was given back.
  size_t held() const { return taken_ - tail_; }
  // Everything that was taken is in the log files, which `now` describes: gives its room back, and wakes a
  // producer that waits.
  void settle(const RingSettled& now);
  // Nothing more is written to the log files: what they do not hold stays in the ring's file, for readers.
  void keep(LogClose why);
  // The same where nothing is kept of it.
  void discard();
  FileFlags& file_flags() { return header_->files; }
  // Makes the producer's next append fail.
  void stop(LogStop reason);

private:
  void map(int fd);
  void publish();
  void wake();

  OwnedFd fd_;
  size_t capacity_;
  std::string path_; // empty: there is no file
  uint8_t* base_ = nullptr;
  RingHeader* header_ = nullptr;
  RingSettled settled_; // the last
  uint64_t tail_ = 0;   // the copy that counts: the one in the ring can be overwritten
  uint64_t taken_ = 0;  // from here on nothing was taken
};

} // namespace rdb::trace
