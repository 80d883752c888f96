// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// madvise: advice that changes what memory holds, and advice about what forked children get.
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/address_space.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// Newer than the system's headers.
constexpr int kDontNeedLocked = 24; // MADV_DONTNEED_LOCKED
constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL

int64_t raw_advise(uint64_t begin, uint64_t end, int advice) {
  return raw_syscall(SYS_madvise, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin), advice);
}

// Where a call that has failed stopped. The kernel goes from mapping to mapping, and stops at the first that
// does not allow it, which may begin at any page (one that is locked, say). To drop pages once more changes
// nothing, so this tries parts of the range, larger ones while it goes well.
uint64_t end_of_effect(uint64_t begin, uint64_t end, int advice) {
  uint64_t at = begin;
  uint64_t step = kPage;
  while (at < end) {
    uint64_t part = std::min(step, end - at);
    int64_t result = raw_advise(at, at + part, advice);
    if (result == 0 || result == -ENOMEM) {
      at += part;
      step = part * 2;
    } else if (part == kPage) {
      break;
    } else {
      step = page_up(part / 2);
    }
  }
  return at;
}

} // namespace

bool drops_pages(int advice) {
  return advice == MADV_DONTNEED || advice == kDontNeedLocked || advice == MADV_FREE ||
         advice == MADV_REMOVE || advice == kGuardInstall;
}

bool concerns_forks(int advice) {
  return advice == MADV_DONTFORK || advice == MADV_DOFORK || advice == MADV_WIPEONFORK ||
         advice == MADV_KEEPONFORK;
}

int64_t AddressSpace::madvise(uint64_t address, uint64_t length, int advice) {
  done_ = {};
  uint64_t end = address + page_up(length);
  if (address & (kPage - 1) || page_up(length) < length || end < address) return -EINVAL;
  if (concerns_forks(advice)) return advise_about_forks({address, end}, advice);
  if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE) return populate({address, end}, advice);
  int64_t result;
  if (in_guest_range(address, end)) {
    result = raw_advise(address, end, advice);
  } else {
    // Memory of the host is in between, which is not there for the guest.
    result = 0;
    for (const Mapping& piece : pieces_of(address, end))
      if (result == 0) result = raw_advise(piece.begin, piece.end, advice);
    if (result == 0) result = -ENOMEM;
  }
  if (!drops_pages(advice)) return result;
  // The kernel passes over holes, and says at the end that there were some.
  uint64_t done = end;
  if (result < 0 && result != -ENOMEM) done = end_of_effect(address, end, advice);
  // The kernel would take these pages when it likes. The program must expect that it is now.
  if (advice == MADV_FREE)
    for (const Mapping& piece : pieces_of(address, done))
      raw_advise(piece.begin, piece.end, MADV_DONTNEED);
  forget_code(address, done);
  if (result < 0) done_ = {address, done};
  return result;
}

// The kernel would look at its own protections, which are not always the guest's. It ends at the first page
// that it cannot bring in.
int64_t AddressSpace::populate(Range range, int advice) {
  int wanted = advice == MADV_POPULATE_READ ? PROT_READ : PROT_WRITE;
  uint64_t at = range.begin;
  if (wanted == PROT_WRITE) release_code_pages(range.begin, range.end);
  for (const Mapping& piece : pieces_of(range.begin, range.end)) {
    if (piece.begin != at) return -ENOMEM;
    if (!(piece.protection & wanted)) return -EINVAL;
    int64_t result = raw_advise(piece.begin, piece.end, advice);
    // Pages that another process has look bad to the kernel.
    if (result < 0 && withheld_ && piece.flags & MAP_SHARED)
      result = end_of_content(piece, piece.begin, piece.end) == piece.end ? 0 : -EFAULT;
    if (result < 0) return result;
    at = piece.end;
  }
  return at != range.end ? -ENOMEM : 0;
}

int64_t AddressSpace::advise_about_forks(Range range, int advice) {
  uint64_t at = range.begin;
  bool hole = false;
  for (Mapping& piece : pieces_of(range.begin, range.end)) {
    hole |= piece.begin != at;
    at = piece.end;
    switch (advice) {
    case MADV_DONTFORK:
    case MADV_DOFORK:
      piece.left_out_on_fork = advice == MADV_DONTFORK;
      break;
    case MADV_WIPEONFORK: {
      if (!is_own(piece) || piece.inode != 0) return -EINVAL;
      piece.cleared_on_fork = true;
      break;
    }
    default:
      piece.cleared_on_fork = false;
    }
    insert(piece);
  }
  return hole || at != range.end ? -ENOMEM : 0;
}

void AddressSpace::after_fork() {
  std::vector<Mapping> left_out;
  for (const auto& [begin, mapping] : mappings_) {
    if (mapping.left_out_on_fork) {
      left_out.push_back(mapping);
    } else if (mapping.cleared_on_fork) {
      raw_advise(mapping.begin, mapping.end, kDontNeedLocked);
      raw_advise(mapping.begin, mapping.end, MADV_DONTNEED); // kernels before 5.18 know only this one
      stale(mapping.begin, mapping.end);
    }
  }
  for (const Mapping& mapping : left_out)
    munmap(mapping.begin, mapping.end - mapping.begin);
}

} // namespace rdb::guest
