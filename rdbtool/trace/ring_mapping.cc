// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring_mapping.h"

#include "rdbtool/trace/ring.h"

#include <climits>
#include <fcntl.h>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::trace {

RingMapping::RingMapping(size_t capacity)
    : fd_(memfd_create("rdb-log", MFD_CLOEXEC | MFD_ALLOW_SEALING)), capacity_(capacity) {
  if (!fd_) throw_errno("log ring", "cannot be made");
  // Pages now: a producer must not meet a full memory as a SIGBUS later.
  allocate_file(fd_.get(), kRingHeaderSize + capacity, "log ring");
  if (fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw_errno("log ring", "cannot be sealed");
  void* base = mmap(nullptr, kRingHeaderSize + 2 * capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw_errno("log ring", "cannot be mapped");
  base_ = static_cast<uint8_t*>(base);
  void* lower =
      mmap(base_, kRingHeaderSize + capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get(), 0);
  void* upper = mmap(base_ + kRingHeaderSize + capacity, capacity, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, fd_.get(), kRingHeaderSize);
  if (lower == MAP_FAILED || upper == MAP_FAILED) {
    munmap(base_, kRingHeaderSize + 2 * capacity_);
    throw_errno("log ring", "cannot be mapped");
  }
  header_ = new (base_) RingHeader{};
  header_->capacity = capacity;
  header_->magic = kRingMagic;
}

RingMapping::~RingMapping() {
  munmap(base_, kRingHeaderSize + 2 * capacity_);
}

std::span<const uint8_t> RingMapping::available(bool& sound) {
  uint64_t used = header_->head.load(std::memory_order_acquire) - tail_;
  sound = used <= capacity_;
  if (!sound) return {};
  return {base_ + kRingHeaderSize + (tail_ & (capacity_ - 1)), used};
}

void RingMapping::take(size_t size) {
  tail_ += size;
  header_->tail.store(tail_, std::memory_order_seq_cst);
  // A producer that waits has filled the ring: it sleeps on until half of it is free, not to be woken for a
  // handful of records.
  uint64_t used = header_->head.load(std::memory_order_acquire) - tail_;
  if (used <= capacity_ / 2 && header_->waiting.load(std::memory_order_seq_cst) != 0) wake();
}

void RingMapping::stop(StopReason reason) {
  header_->stop.store(static_cast<uint32_t>(reason), std::memory_order_seq_cst);
  wake();
}

void RingMapping::wake() {
  header_->waiting.store(0, std::memory_order_seq_cst);
  header_->wake.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &header_->wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace rdb::trace
