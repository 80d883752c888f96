// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory on replay: mappings are made as they were recorded, with private copies in the place of files and of
// shared memory. So the kernel's mappings are others than those of the recording, where a copy is shorter
// than the file has become, for example.
#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/file_holes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace rdb::guest {

void AddressSpace::restore(const Mapping& mapping, int fd) {
  uint64_t file_end = mapping.begin; // what the file covers
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) > mapping.offset)
    file_end =
        std::min(mapping.end, mapping.begin + page_up(static_cast<uint64_t>(info.st_size) - mapping.offset));
  auto map = [&](uint64_t begin, uint64_t end, int flags, int file) {
    if (begin == end) return;
    int64_t result =
        raw_syscall(SYS_mmap, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin),
                    host_protection(mapping.protection), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | flags,
                    file, file < 0 ? 0 : static_cast<int64_t>(mapping.offset));
    if (result < 0)
      limit("cannot map {:#x}-{:#x} again: {}", begin, end, std::strerror(static_cast<int>(-result)));
  };
  map(mapping.begin, file_end, 0, fd);
  map(file_end, mapping.end, MAP_ANONYMOUS, -1);
  // Each of its own: mremap is done one by one.
  insert(mapping);
  change_pieces(mapping.begin, file_end, [&](Mapping& piece) { piece.copy = fd; });
  change_pieces(file_end, mapping.end, [](Mapping& piece) { piece.copy = kNoFile; });
  stale(mapping.begin, mapping.end);
}

// Moves each mapping by itself: the kernel does not move several at once (before Linux 6.17).
void AddressSpace::repeat_mremap(uint64_t old_address, uint64_t old_size, uint64_t new_size, int flags,
                                 uint64_t target) {
  uint64_t old_length = page_up(old_size);
  uint64_t new_length = page_up(new_size);
  uint64_t kept = std::min(old_length, new_length);
  bool keeps_old = flags & MREMAP_DONTUNMAP;
  const Mapping* first = find(old_address);
  if (first == nullptr) limit("cannot move {:#x} again: nothing is there", old_address);
  int protection = first->protection;
  release_code_pages(old_address, old_address + old_length);
  // With a length of zero there is a second mapping, of which the first page counts.
  std::vector<Mapping> pieces = pieces_of(old_address, old_address + std::max(kept, kPage));
  auto fail = [&](int64_t result) {
    if (result < 0)
      limit("cannot move {:#x} to {:#x} again: {}", old_address, target,
            std::strerror(static_cast<int>(-result)));
  };
  if (target != old_address) {
    auto move = [&](uint64_t begin, uint64_t end) {
      return raw_syscall(SYS_mremap, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin),
                         static_cast<int64_t>(end - begin),
                         MREMAP_MAYMOVE | MREMAP_FIXED | (keeps_old ? MREMAP_DONTUNMAP : 0),
                         static_cast<int64_t>(target + (begin - old_address)));
    };
    for (const Mapping& piece : pieces) {
      if (kept == 0 || move(piece.begin, piece.end) >= 0) continue;
      // The kernel may have split what is one mapping here.
      for (uint64_t page = piece.begin; page < piece.end; page += kPage)
        fail(move(page, page + kPage));
    }
  }
  if (new_length > kept)
    fail(raw_syscall(SYS_mmap, static_cast<int64_t>(target + kept), static_cast<int64_t>(new_length - kept),
                     host_protection(protection), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS, -1,
                     0));
  if (!keeps_old) {
    uint64_t gone = target == old_address ? old_address + kept : old_address;
    if (gone < old_address + old_length) munmap(gone, old_address + old_length - gone);
  }
  move_pieces(pieces, old_address, target, {target + kept, target + new_length});
  if (keeps_old) repeat_drop(old_address, old_length);
}

void AddressSpace::repeat_drop(uint64_t address, uint64_t length) {
  for (const Mapping& piece : pieces_of(address, address + page_up(length))) {
    auto begin = static_cast<int64_t>(piece.begin);
    auto size = static_cast<int64_t>(piece.end - piece.begin);
    if (piece.view != 0) {
      clear_object(piece.copy, {piece.offset, piece.offset + (piece.end - piece.begin)});
      continue;
    }
    int64_t result;
    if (is_own(piece))
      result = raw_syscall(SYS_madvise, begin, size, MADV_DONTNEED);
    else
      result = raw_syscall(SYS_mmap, begin, size, host_protection(piece.protection),
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS, -1, 0);
    if (result < 0)
      limit("cannot drop {:#x}-{:#x} again: {}", piece.begin, piece.end,
            std::strerror(static_cast<int>(-result)));
    Mapping dropped = piece;
    dropped.copy = kNoFile;
    insert(dropped);
  }
  forget_code(address, address + page_up(length));
}

size_t AddressSpace::change(GuestAddr to, const void* from, size_t size) {
  size_t done = 0;
  while (done < size) {
    GuestAddr at = to + done;
    const Mapping* mapping = find(at.value);
    if (mapping == nullptr) break;
    size_t part = std::min<size_t>(size - done, mapping->end - at.value);
    const char* bytes = static_cast<const char*>(from) + done;
    if (mapping->protection & PROT_WRITE) {
      if (write(at, bytes, part) != part) break;
    } else {
      if (writing_) writing_(at, part);
      auto begin = static_cast<int64_t>(page_down(at.value));
      auto length = static_cast<int64_t>(page_up(at.value + part)) - begin;
      raw_syscall(SYS_mprotect, begin, length, PROT_READ | PROT_WRITE);
      std::memcpy(at.ptr<void>(), bytes, part);
      raw_syscall(SYS_mprotect, begin, length, host_protection(mapping->protection));
      stale(page_down(at.value), page_up(at.value + part));
    }
    done += part;
  }
  return done;
}

} // namespace rdb::guest
