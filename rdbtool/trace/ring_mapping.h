// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The consumer's view of one ring: makes the memory, hands out what the producer has written, gives room
// back.
#pragma once

#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/log_producer.h"

#include <span>

namespace rdb::trace {

class RingMapping {
public:
  // Throws std::system_error.
  explicit RingMapping(size_t capacity);
  ~RingMapping();
  RingMapping(const RingMapping&) = delete;
  RingMapping& operator=(const RingMapping&) = delete;

  // The descriptor to pass to the producer; closed by release_fd() once it has been.
  int fd() const { return fd_.get(); }
  int release_fd() { return fd_.release(); }
  size_t capacity() const { return capacity_; }

  // What has been written and not taken. `sound` becomes false if the ring's numbers cannot be.
  std::span<const uint8_t> available(bool& sound);
  // Gives the first `size` bytes of it back, and wakes a producer that waits.
  void take(size_t size);
  // Makes the producer's next append fail.
  void stop(StopReason reason);

private:
  void wake();

  OwnedFd fd_;
  size_t capacity_;
  uint8_t* base_ = nullptr;
  RingHeader* header_ = nullptr;
  uint64_t tail_ = 0; // the copy that counts: the one in the ring can be overwritten
};

} // namespace rdb::trace
