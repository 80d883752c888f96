// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/ring_mapping.h"

#include "rdbtool/trace/ring/ring_file.h"

#include <climits>
#include <fcntl.h>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace rdb::trace {

namespace {

// Pages now: a producer must not meet a full memory as a SIGBUS later.
OwnedFd memory_ring(size_t size) {
  OwnedFd fd(memfd_create("rdb-log", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw_errno("log ring", "cannot be made");
  allocate_file(fd.get(), size, "log ring");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw_errno("log ring", "cannot be sealed");
  return fd;
}

// Nothing if the file system has no room for it or no shared mappings.
OwnedFd file_ring(size_t size, const std::string& path) {
  OwnedFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fd;
  try {
    allocate_file(fd.get(), size, path);
    void* page = mmap(nullptr, kRingHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (page == MAP_FAILED) throw_errno(path, "cannot be mapped");
    munmap(page, kRingHeaderSize);
  } catch (const std::system_error&) {
    unlink(path.c_str());
    return {};
  }
  return fd;
}

} // namespace

RingMapping::RingMapping(size_t capacity, std::string path) : capacity_(capacity), path_(std::move(path)) {
  if (!path_.empty()) fd_ = file_ring(kRingHeaderSize + capacity, path_);
  if (!fd_) {
    path_.clear();
    fd_ = memory_ring(kRingHeaderSize + capacity);
  }
  try {
    map(fd_.get());
  } catch (...) {
    remove_file();
    throw;
  }
  header_ = new (base_) RingHeader{};
  header_->capacity = capacity;
  header_->boot = boot_id();
  header_->magic = kRingMagic;
}

void RingMapping::map(int fd) {
  void* base = mmap(nullptr, kRingHeaderSize + 2 * capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw_errno("log ring", "cannot be mapped");
  base_ = static_cast<uint8_t*>(base);
  void* lower =
      mmap(base_, kRingHeaderSize + capacity_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  void* upper = mmap(base_ + kRingHeaderSize + capacity_, capacity_, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, fd, kRingHeaderSize);
  if (lower == MAP_FAILED || upper == MAP_FAILED) {
    munmap(base_, kRingHeaderSize + 2 * capacity_);
    throw_errno("log ring", "cannot be mapped");
  }
}

RingMapping::~RingMapping() {
  munmap(base_, kRingHeaderSize + 2 * capacity_);
}

void RingMapping::move_to(const std::string& path) {
  if (path_.empty()) return;
  if (rename(path_.c_str(), path.c_str()) != 0) throw_errno(path, "cannot be made");
  path_ = path;
}

void RingMapping::remove_file() {
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

std::span<const uint8_t> RingMapping::available(bool& sound) {
  uint64_t used = header_->head.load(std::memory_order_acquire) - tail_;
  sound = used <= capacity_ && used >= held();
  if (!sound) return {};
  return {base_ + kRingHeaderSize + (taken_ & (capacity_ - 1)), used - held()};
}

void RingMapping::settle(const RingSettled& now) {
  settled_ = now;
  settled_.tail = taken_;
  publish();
  discard();
}

void RingMapping::keep(LogClose why) {
  settled_.close = static_cast<uint8_t>(why);
  publish();
}

void RingMapping::publish() {
  settled_.check = settled_.expected_check();
  uint64_t number = header_->settlements.load(std::memory_order_relaxed) + 1;
  header_->settled[number % 2] = settled_;
  header_->settlements.store(number, std::memory_order_release);
}

void RingMapping::discard() {
  tail_ = taken_;
  header_->tail.store(tail_, std::memory_order_seq_cst);
  // A producer that waits has filled the ring: it sleeps on until half of it is free, not to be woken for a
  // handful of records.
  uint64_t used = header_->head.load(std::memory_order_acquire) - tail_;
  if (used <= capacity_ / 2 && header_->waiting.load(std::memory_order_seq_cst) != 0) wake();
}

void RingMapping::stop(LogStop reason) {
  header_->stop.store(static_cast<uint32_t>(reason), std::memory_order_seq_cst);
  wake();
}

void RingMapping::wake() {
  header_->waiting.store(0, std::memory_order_seq_cst);
  header_->wake.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &header_->wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace rdb::trace
