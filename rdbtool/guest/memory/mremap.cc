// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mremap: memory that grows, shrinks and moves.
#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/host_place.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// Whether both are one mapping for a kernel that knows only the guest.
bool continues(const Mapping& before, const Mapping& after) {
  return before.end == after.begin && before.protection == after.protection && before.flags == after.flags &&
         before.inode == after.inode && before.device == after.device && before.segment == after.segment &&
         before.cleared_on_fork == after.cleared_on_fork &&
         before.left_out_on_fork == after.left_out_on_fork && continues_content(before, after);
}

bool is_one_mapping(const std::vector<Mapping>& pieces, uint64_t begin, uint64_t end) {
  if (pieces.empty() || pieces.front().begin != begin || pieces.back().end != end) return false;
  return std::ranges::adjacent_find(pieces, [](const Mapping& before, const Mapping& after) {
           return !continues(before, after);
         }) == pieces.end();
}

} // namespace

// What is to be at `target` from now on: these, which were at `from`, and the last of them in the part by
// which it has grown. Where several were moved (Linux 6.17), what was between them is not: there the target
// stays as it was.
void AddressSpace::move_pieces(const std::vector<Mapping>& pieces, uint64_t from, uint64_t target,
                               Range grown) {
  for (Mapping piece : pieces) {
    piece.begin = target + (piece.begin - from);
    piece.end = target + (piece.end - from);
    insert(piece);
    stale(piece.begin, piece.end);
  }
  if (grown.begin >= grown.end) return;
  Mapping last = pieces.back();
  last.begin = target + (last.begin - from);
  last.end = grown.end;
  insert(last);
  stale(grown.begin, grown.end);
}

// The error for memory that has no room to grow where it is. The kernel looks at the memory before it looks
// for room, and parts that look alike are several mappings for it at times: those that were writable once,
// and count as memory in use, and those that never were. It has no room either, so it can be asked.
int64_t AddressSpace::why_not_in_place(uint64_t address, uint64_t old_size, uint64_t new_size) {
  release_code_pages(address, address + page_up(old_size));
  int64_t result = raw_syscall(SYS_mremap, static_cast<int64_t>(address), static_cast<int64_t>(old_size),
                               static_cast<int64_t>(new_size), 0);
  RDB_CHECK(result < 0);
  return result;
}

int64_t AddressSpace::mremap(uint64_t old_address, uint64_t old_size, uint64_t new_size, int flags,
                             uint64_t new_address) {
  constexpr int kMoves = MREMAP_FIXED | MREMAP_DONTUNMAP;
  uint64_t old_length = page_up(old_size);
  uint64_t new_length = page_up(new_size);
  if (flags & ~(kMoves | MREMAP_MAYMOVE) || (flags & kMoves && !(flags & MREMAP_MAYMOVE))) return -EINVAL;
  if (old_address & (kPage - 1) || new_length == 0 || old_length < old_size || new_length < new_size)
    return -EINVAL;
  if (flags & MREMAP_DONTUNMAP && old_length != new_length) return -EINVAL;
  if (flags & kMoves) {
    bool overlaps = old_address < new_address + new_length && new_address < old_address + old_length;
    if (new_address & (kPage - 1) || overlaps) return -EINVAL;
  }
  if (flags & MREMAP_FIXED) {
    if (new_address < kLowBegin || new_length > kUserEnd || new_address > kUserEnd - new_length)
      return -EINVAL;
    require_place(new_address, new_address + new_length);
  }
  if (find(old_address) == nullptr || old_address + old_length < old_address) return -EFAULT;
  uint64_t kept = std::min(old_length, new_length);
  // Of what is moved, since the kernel would cut the rest off first.
  uint64_t moved_end = old_address + std::max(kept, kPage);
  bool one = is_one_mapping(pieces_of(old_address, moved_end), old_address, moved_end);
  bool moves_less = flags & MREMAP_FIXED && new_length < old_length;
  // Whether several may be moved at once, without a change of their length, is for the kernel to say.
  if (!one && (old_length < new_length || moves_less)) return -EFAULT;
  uint64_t target = 0;
  if (flags & MREMAP_FIXED) {
    target = new_address;
  } else {
    uint64_t grow_end = old_address + new_length;
    bool in_range = in_guest_range(old_address, grow_end);
    bool room = new_length <= old_length || (in_range && is_free(old_address + old_length, grow_end));
    if (room && old_length != 0 && !(flags & MREMAP_DONTUNMAP)) {
      target = old_address;
    } else {
      if (!(flags & MREMAP_MAYMOVE))
        return in_range ? why_not_in_place(old_address, old_size, new_size) : -ENOMEM;
      target = find_gap(new_length);
      if (target == 0) return -ENOMEM;
    }
  }
  // For the kernel these would be mappings of their own.
  release_code_pages(old_address, old_address + old_length);
  int real_flags = target == old_address ? 0 : flags | MREMAP_MAYMOVE | MREMAP_FIXED;
  int64_t result = raw_syscall(SYS_mremap, static_cast<int64_t>(old_address), static_cast<int64_t>(old_size),
                               static_cast<int64_t>(new_size), real_flags, static_cast<int64_t>(target));
  if (result < 0) return result;
  // With a length of zero there is a second mapping, of which the first page counts.
  std::vector<Mapping> pieces = pieces_of(old_address, old_address + std::max(kept, kPage));
  if (!(flags & MREMAP_DONTUNMAP)) {
    carve(old_address, old_address + old_length);
    stale(old_address, old_address + old_length);
  }
  move_pieces(pieces, old_address, target, {target + kept, target + new_length});
  return static_cast<int64_t>(target);
}

} // namespace rdb::guest
