// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/address_space.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/memory/write_only_memory.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// Images up to this size go into the window beside the code cache.
constexpr uint64_t kLargestImage = 512u << 20;

} // namespace

int kept_flags(int flags) {
  bool shared = (flags & MAP_TYPE) != MAP_PRIVATE; // MAP_SHARED_VALIDATE too
  return (flags & (MAP_ANONYMOUS | MAP_GROWSDOWN)) | (shared ? MAP_SHARED : MAP_PRIVATE);
}

bool continues_content(const Mapping& before, const Mapping& after) {
  return is_own(before) ||
         (before.object == after.object && before.offset + (before.end - before.begin) == after.offset);
}

bool is_own(const Mapping& mapping) {
  return mapping.flags & MAP_ANONYMOUS && mapping.flags & MAP_PRIVATE;
}

int host_protection(int guest) {
  int result = guest & (PROT_READ | PROT_WRITE);
  // The translator reads code; and what can be written can be read on this kind of CPU, also by the host.
  if (guest & (PROT_EXEC | PROT_WRITE)) result |= PROT_READ;
  return result;
}

AddressSpace::AddressSpace(const Layout& layout) : layout_(layout) {}

bool AddressSpace::in_guest_range(uint64_t begin, uint64_t end) const {
  if (begin > end || begin < kLowBegin || end > kUserEnd) return false;
  return layout_.reserved_in(begin, end) == nullptr;
}

const Mapping* AddressSpace::find(uint64_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

const Mapping* AddressSpace::first_ending_after(uint64_t address) const {
  if (const Mapping* mapping = find(address)) return mapping;
  auto after = mappings_.upper_bound(address);
  return after == mappings_.end() ? nullptr : &after->second;
}

// How far memory is mapped from `begin` on without a hole, up to `end`.
uint64_t AddressSpace::mapped_without_hole(uint64_t begin, uint64_t end) const {
  uint64_t at = begin;
  while (at < end) {
    const Mapping* mapping = find(at);
    if (mapping == nullptr) break;
    at = mapping->end;
  }
  return std::min(at, end);
}

std::vector<Mapping> AddressSpace::pieces_of(uint64_t begin, uint64_t end) const {
  std::vector<Mapping> result;
  if (begin >= end) return result;
  for (const Mapping* mapping = first_ending_after(begin); mapping != nullptr && mapping->begin < end;
       mapping = first_ending_after(mapping->end)) {
    Mapping piece = *mapping;
    piece.begin = std::max(begin, mapping->begin);
    piece.end = std::min(end, mapping->end);
    piece.offset += piece.begin - mapping->begin;
    result.push_back(piece);
  }
  return result;
}

// Where the kernel puts nothing any more if it has the choice: it stays away from what grows down.
uint64_t AddressSpace::begin_with_gap(const Mapping& mapping) {
  return mapping.flags & MAP_GROWSDOWN ? mapping.begin - std::min(mapping.begin, kGuardGap) : mapping.begin;
}

// The highest free range of this length in [low, high), 0 if none.
uint64_t AddressSpace::find_gap(uint64_t low, uint64_t high, uint64_t length) const {
  uint64_t end = high;
  while (end > low && end - low >= length) {
    const uint64_t begin = end - length;
    if (const AddressRange* reserved = layout_.reserved_in(begin, end)) {
      end = reserved->begin;
      continue;
    }
    auto next = mappings_.lower_bound(end);
    if (next == mappings_.begin() || std::prev(next)->second.end <= begin) return begin;
    end = begin_with_gap(std::prev(next)->second);
  }
  return 0;
}

uint64_t AddressSpace::find_gap(uint64_t length) const {
  return find_gap(layout_.mmap_low, layout_.mmap_top, length);
}

bool AddressSpace::is_free(uint64_t begin, uint64_t end) const {
  auto it = mappings_.lower_bound(end);
  return it == mappings_.begin() || std::prev(it)->second.end <= begin;
}

uint64_t AddressSpace::place_image(uint64_t size) {
  return find_gap(layout_.window, layout_.window + kImageSpan, page_up(size));
}

// Removes [begin, end) from the map, splitting what crosses it.
void AddressSpace::carve(uint64_t begin, uint64_t end) {
  plain_ = {};
  auto it = mappings_.upper_bound(begin);
  if (it != mappings_.begin()) --it;
  while (it != mappings_.end() && it->second.begin < end) {
    Mapping mapping = it->second;
    if (mapping.end <= begin) {
      ++it;
      continue;
    }
    it = mappings_.erase(it);
    if (mapping.begin < begin) {
      Mapping left = mapping;
      left.end = begin;
      mappings_[left.begin] = left;
    }
    if (mapping.end > end) {
      Mapping right = mapping;
      right.begin = end;
      right.offset += end - mapping.begin;
      mappings_[right.begin] = right;
      it = mappings_.upper_bound(end);
    }
  }
}

bool AddressSpace::find_plain(uint64_t address, uint64_t size) {
  constexpr int kWanted = MAP_PRIVATE | MAP_ANONYMOUS;
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  const Mapping* mapping = find(address);
  if (mapping == nullptr || (mapping->flags & kWanted) != kWanted ||
      (mapping->protection & kProtection) != kProtection)
    return false;
  for (uint64_t page : code_pages_)
    if (page >= mapping->begin && page < mapping->end) return false;
  PlainRange range{mapping->begin, mapping->end};
  plain_[next_plain_++ % plain_.size()] = range;
  return range.holds(address, size);
}

void AddressSpace::insert(const Mapping& mapping) {
  carve(mapping.begin, mapping.end);
  mappings_[mapping.begin] = mapping;
}

void AddressSpace::stale(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if ((end - begin) / kPage > watched_pages_.size()) {
    std::erase_if(watched_pages_, [&](uint64_t page) { return page >= begin && page < end; });
    std::erase_if(code_pages_, [&](uint64_t page) { return page >= begin && page < end; });
  } else {
    for (uint64_t page = begin; page < end; page += kPage) {
      watched_pages_.erase(page);
      code_pages_.erase(page);
    }
  }
  for (const auto& tell : code_changed_)
    tell(GuestAddr(begin), end - begin);
}

// Where a mapping of this size goes that need not be anywhere; 0 if there is no room.
uint64_t AddressSpace::choose_place(uint64_t hint, uint64_t size, int flags) {
  hint = page_down(hint);
  auto above = mappings_.upper_bound(hint);
  bool has_room = above == mappings_.end() || hint + size <= begin_with_gap(above->second);
  if (hint != 0 && in_guest_range(hint, hint + size) && is_free(hint, hint + size) && has_room) return hint;
  if (flags & MAP_32BIT) return find_gap(layout_.below_2_gib.begin, layout_.below_2_gib.end, size);
  bool image = !(flags & MAP_ANONYMOUS) && flags & MAP_PRIVATE && size <= kLargestImage;
  if (image)
    if (uint64_t place = place_image(size); place != 0) return place;
  return find_gap(size);
}

// What the guest asks for by a fixed address replaces whatever is there. That cannot be rdb itself, and a
// program that were told "no memory" would go on with something else, or die without a word why.
void AddressSpace::require_place(uint64_t begin, uint64_t end) const {
  if (in_guest_range(begin, end)) return;
  const AddressRange* reserved = layout_.reserved_in(begin, end);
  if (reserved == nullptr) bug("{:#x}-{:#x} is no memory of a program's", begin, end);
  limit("the program asks for memory at the fixed addresses {:#x}-{:#x}, and rdb itself needs {:#x}-{:#x}",
        begin, end, reserved->begin, reserved->end);
}

// 0 if a mapping can be at this address and nowhere else; or the error.
int64_t AddressSpace::check_fixed(uint64_t address, uint64_t size, int flags) const {
  if (address & (kPage - 1)) return -EINVAL;
  if (size > kUserEnd || address > kUserEnd - size) return -ENOMEM;
  if (address < kLowBegin) return -EPERM;
  // A place that is taken, as it would be in a native process.
  if (flags & MAP_FIXED_NOREPLACE && !in_guest_range(address, address + size)) return -EEXIST;
  require_place(address, address + size);
  if (flags & MAP_FIXED_NOREPLACE && !is_free(address, address + size)) return -EEXIST;
  return 0;
}

// What the mapping has of its file.
void AddressSpace::note_file(Mapping& mapping, int fd, int flags, uint64_t offset) {
  struct stat info;
  if (fstat(fd, &info) == 0) {
    mapping.device = info.st_dev;
    mapping.inode = info.st_ino;
    // Memory of its own at every mapping, under a name.
    if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 5)) mapping.flags |= MAP_ANONYMOUS;
  }
  mapping.may_write = flags & MAP_SHARED && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
  mapping.offset = offset;
  char link[64];
  char path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path);
  if (n > 0) mapping.name.assign(path, static_cast<size_t>(n));
}

int64_t AddressSpace::mmap(uint64_t address, uint64_t length, int protection, int flags, int fd,
                           uint64_t offset) {
  if (length == 0) return -EINVAL;
  uint64_t size = page_up(length);
  if (size < length) return -ENOMEM;
  uint64_t place = address;
  if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
    if (int64_t error = check_fixed(address, size, flags); error != 0) return error;
  } else {
    place = choose_place(address, size, flags);
    if (place == 0) return -ENOMEM;
  }
  int real_flags = (flags & ~(MAP_FIXED_NOREPLACE | MAP_32BIT)) | MAP_FIXED;
  // It grows when rdb says so. The kernel refuses it for memory of other kinds.
  if (flags & MAP_ANONYMOUS && (flags & MAP_TYPE) == MAP_PRIVATE) real_flags &= ~MAP_GROWSDOWN;
  int memory_file = make_memory_file(size, flags);
  bool from_file = memory_file >= 0;
  int64_t result =
      raw_syscall(SYS_mmap, static_cast<int64_t>(place), static_cast<int64_t>(length),
                  first_host_protection(protection), from_file ? real_flags & ~MAP_ANONYMOUS : real_flags,
                  from_file ? memory_file : fd, from_file ? 0 : static_cast<int64_t>(offset));
  if (from_file) memory_files_.push_back(memory_file);
  if (result < 0) return result;
  if (is_write_only(protection)) make_readable_apart(place, place + size);
  Mapping mapping;
  if (from_file) mapping.copy = memory_file;
  mapping.begin = place;
  mapping.end = place + size;
  mapping.protection = protection & (PROT_READ | PROT_WRITE | PROT_EXEC);
  mapping.flags = kept_flags(flags);
  if (!(flags & MAP_ANONYMOUS)) note_file(mapping, fd, flags, offset);
  if (mapping.flags & MAP_ANONYMOUS && mapping.flags & MAP_SHARED) mapping.object = ++objects_;
  insert(mapping);
  stale(mapping.begin, mapping.end);
  return static_cast<int64_t>(place);
}

int64_t AddressSpace::munmap(uint64_t address, uint64_t length) {
  uint64_t size = page_up(length);
  if (address & (kPage - 1) || length == 0 || size < length) return -EINVAL;
  if (!in_guest_range(address, address + size)) {
    // Unmapping what was never mapped succeeds; the host's own memory is not there for the guest.
    if (address + size < address || address + size > kUserEnd) return -EINVAL;
    // So it was, and so recordings have it.
    if (layout_.version == LayoutVersion::two_ranges) return 0;
    return unmap_around_reserved(address, address + size);
  }
  int64_t result = raw_syscall(SYS_munmap, static_cast<int64_t>(address), static_cast<int64_t>(size));
  if (result < 0) return result;
  carve(address, address + size);
  stale(address, address + size);
  if (!memory_files_.empty()) close_memory_files();
  if (object_views_.any()) close_unused_objects();
  std::erase_if(code_changes_,
                [&](const auto& entry) { return entry.first >= address && entry.first < address + size; });
  return 0;
}

// A range that crosses reserved ones: everything of the guest's in it goes.
int64_t AddressSpace::unmap_around_reserved(uint64_t begin, uint64_t end) {
  for (const Mapping& piece : pieces_of(begin, end))
    if (int64_t result = munmap(piece.begin, piece.end - piece.begin); result < 0) return result;
  return 0;
}

int64_t AddressSpace::mprotect(uint64_t address, uint64_t length, int protection) {
  constexpr int kGrows = PROT_GROWSDOWN | PROT_GROWSUP;
  constexpr int kSemaphores = 8; // PROT_SEM, which has no effect
  constexpr int kAccess = PROT_READ | PROT_WRITE | PROT_EXEC;
  done_ = {};
  int grows = protection & kGrows;
  if (grows == kGrows || address & (kPage - 1)) return -EINVAL;
  if (length == 0) return 0;
  uint64_t end = address + page_up(length);
  if (end <= address) return -ENOMEM;
  if (protection & ~(kGrows | kSemaphores | kAccess)) return -EINVAL;
  if (grows != 0) {
    const Mapping* first = first_ending_after(address);
    if (first == nullptr || first->begin >= end) return -ENOMEM;
    if (grows == PROT_GROWSUP) return first->begin > address ? -ENOMEM : -EINVAL; // none grows up on x86
    if (!(first->flags & MAP_GROWSDOWN)) return -EINVAL;
    address = first->begin;
  }
  auto protect = [&](uint64_t from, uint64_t to) {
    return raw_syscall(SYS_mprotect, static_cast<int64_t>(from), static_cast<int64_t>(to - from),
                       first_host_protection(protection));
  };
  uint64_t mapped = mapped_without_hole(address, end);
  uint64_t done = mapped;
  int64_t result = mapped == address ? 0 : protect(address, mapped);
  if (result < 0) {
    // The kernel has done one mapping after the other, up to the first that must not be like that.
    done = address;
    for (const Mapping& piece : pieces_of(address, mapped)) {
      if (protect(piece.begin, piece.end) < 0) break;
      done = piece.end;
    }
  } else if (mapped < end) {
    result = -ENOMEM;
  }
  if (is_write_only(protection) && done > address) make_readable_apart(address, done);
  change_pieces(address, done, [&](Mapping& piece) {
    if (is_write_only(piece.protection) && !is_write_only(protection)) end_apart(piece.begin, piece.end);
    piece.protection = protection & kAccess;
  });
  stale(address, done);
  if (result < 0) done_ = {address, done};
  return result;
}

std::optional<int64_t> AddressSpace::call(int64_t number, const std::array<uint64_t, 6>& a) {
  switch (properties_of(number).mapping) {
  case MappingChange::map:
    return mmap(a[0], a[1], static_cast<int>(a[2]), static_cast<int>(a[3]), static_cast<int>(a[4]), a[5]);
  case MappingChange::unmap:
    return munmap(a[0], a[1]);
  case MappingChange::protect:
    return mprotect(a[0], a[1], static_cast<int>(a[2]));
  case MappingChange::protect_with_key: {
    // Without a key, or with the one that everybody has.
    auto key = static_cast<int>(a[3]);
    if (key != -1 && key != 0) return -EINVAL;
    return mprotect(a[0], a[1], static_cast<int>(a[2]));
  }
  case MappingChange::move:
    return mremap(a[0], a[1], a[2], static_cast<int>(a[3]), a[4]);
  case MappingChange::set_break:
    return brk(a[0]);
  case MappingChange::advise:
    return madvise(a[0], a[1], static_cast<int>(a[2]));
  case MappingChange::attach:
    return shmat(static_cast<int>(a[0]), a[1], static_cast<int>(a[2]));
  case MappingChange::detach:
    return shmdt(a[0]);
  default:
    return std::nullopt;
  }
}

void AddressSpace::set_brk(uint64_t begin) {
  brk_begin_ = begin;
  brk_end_ = begin;
}

int64_t AddressSpace::brk(uint64_t address) {
  if (address < brk_begin_) return static_cast<int64_t>(brk_end_);
  uint64_t old_top = page_up(brk_end_);
  uint64_t new_top = page_up(address);
  if (new_top > old_top) {
    int64_t result = mmap(old_top, new_top - old_top, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (result < 0) return static_cast<int64_t>(brk_end_);
    // One mapping, as the kernel shows it.
    Mapping heap = *find(old_top);
    heap.begin = page_down(brk_begin_);
    heap.name = "[heap]";
    const Mapping* before = old_top > heap.begin ? find(old_top - 1) : nullptr;
    if (before != nullptr && before->name == "[heap]" && before->protection == heap.protection)
      heap.begin = before->begin;
    else
      heap.begin = old_top;
    insert(heap);
  } else if (new_top < old_top) {
    munmap(new_top, old_top - new_top);
  }
  brk_end_ = address;
  return static_cast<int64_t>(address);
}

void AddressSpace::name(uint64_t begin, uint64_t end, const std::string& what) {
  for (auto& [key, mapping] : mappings_)
    if (mapping.begin >= begin && mapping.end <= end) mapping.name = what;
}

size_t AddressSpace::read(GuestAddr from, void* to, size_t size) {
  if (is_plain(from.value, size)) {
    std::memcpy(to, from.ptr<void>(), size);
    return size;
  }
  if (read_own_memory(from.ptr(), to, size) == size) return size;
  // Page by page: a partial transfer counts whole pages.
  size_t done = 0;
  while (done < size) {
    uint64_t at = from.value + done;
    size_t part = std::min<size_t>(size - done, kPage - (at & (kPage - 1)));
    if (read_own_memory(reinterpret_cast<void*>(at), static_cast<char*>(to) + done, part) != part) {
      if (withheld_ && withheld_(GuestAddr(at), false)) continue;
      break;
    }
    done += part;
  }
  return done;
}

// Only the kernel can look at a page that may lie after the end of a file. Those before the end are there, so
// the last page of the range tells in nearly all cases.
uint64_t AddressSpace::end_of_content(const Mapping& mapping, uint64_t begin, uint64_t end) {
  // Shared memory without a name is a file, too: mremap can make its mapping longer.
  if (is_own(mapping) || begin >= end) return end;
  auto is_there = [&](uint64_t page) {
    GuestAddr at(std::max(page, begin));
    uint8_t byte;
    return copy_until_fault(&byte, at.ptr<const void>(), 1) == 1 || read(at, &byte, 1) == 1;
  };
  uint64_t low = page_down(begin); // all before it are there
  uint64_t high = page_up(end);    // none from it on, or the end of the range
  if (is_there(high - kPage)) return end;
  high -= kPage;
  while (low < high) {
    uint64_t middle = page_down(low + (high - low) / 2);
    if (is_there(middle))
      low = middle + kPage;
    else
      high = middle;
  }
  return std::max(begin, low);
}

size_t AddressSpace::write(GuestAddr to, const void* from, size_t size) {
  if (writing_) writing_(to, size);
  if (is_plain(to.value, size)) {
    std::memcpy(to.ptr<void>(), from, size);
    return size;
  }
  size_t done = 0;
  while (done < size) {
    uint64_t at = to.value + done;
    size_t part = std::min<size_t>(size - done, kPage - (at & (kPage - 1)));
    if (code_pages_.count(page_down(at))) release_code_page(GuestAddr(at));
    if (write_own_memory(reinterpret_cast<void*>(at), static_cast<const char*>(from) + done, part) != part) {
      if (withheld_ && withheld_(GuestAddr(at), true)) continue;
      break;
    }
    done += part;
  }
  return done;
}

void AddressSpace::set_read_only(bool on) {
  for (auto at = mappings_.begin(); at != mappings_.end();) {
    // Neighbours in one call.
    const Mapping& first = at->second;
    uint64_t end = first.end;
    for (++at; at != mappings_.end() && at->first == end && at->second.protection == first.protection; ++at)
      end = at->second.end;
    if (!(first.protection & PROT_WRITE)) continue;
    raw_syscall(SYS_mprotect, static_cast<int64_t>(first.begin), static_cast<int64_t>(end - first.begin),
                on ? PROT_READ : host_protection(first.protection));
  }
  if (on) return;
  for (uint64_t page : code_pages_)
    raw_syscall(SYS_mprotect, static_cast<int64_t>(page), static_cast<int64_t>(kPage), PROT_READ);
}

// Code that can be executed may still not be there: another process has the page, or its file ends before.
size_t AddressSpace::read_code(GuestAddr from, void* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    GuestAddr at = from + done;
    const Mapping* mapping = find(at.value);
    if (mapping == nullptr || !(mapping->protection & PROT_EXEC)) break;
    size_t part = std::min<size_t>(size - done, kPage - at.value % kPage);
    char* place = static_cast<char*>(to) + done;
    if (copy_until_fault(place, at.ptr<const void>(), part) != part && read(at, place, part) != part) break;
    done += part;
  }
  return done;
}

AddressSpace::CodeWatch AddressSpace::watch_code_page(GuestAddr page) {
  // A fault costs as much as thousands of comparisons.
  constexpr int kManyChanges = 16;
  if (code_unwatched_ && !watched_pages_.contains(page.value)) {
    unwatched_pages_.push_back(page.value);
    return CodeWatch::compare;
  }
  auto changes = code_changes_.find(page.value);
  if (changes != code_changes_.end() && changes->second >= kManyChanges) return CodeWatch::compare;
  if (watched_pages_.contains(page.value)) return CodeWatch::noticed;
  const Mapping* mapping = find(page.value);
  // Shared memory changes by other processes, too, and that of a file by calls.
  if (mapping != nullptr && mapping->flags & MAP_SHARED) return CodeWatch::compare;
  watched_pages_.insert(page.value);
  if (mapping == nullptr || !(mapping->protection & PROT_WRITE)) return CodeWatch::noticed;
  code_pages_.insert(page.value);
  plain_ = {};
  raw_syscall(SYS_mprotect, static_cast<int64_t>(page.value), kPage, PROT_READ);
  return CodeWatch::noticed;
}

bool AddressSpace::release_code_page(GuestAddr address) {
  uint64_t page = page_down(address.value);
  if (!code_pages_.erase(page)) return false;
  watched_pages_.erase(page);
  ++code_changes_[page];
  const Mapping* mapping = find(page);
  RDB_CHECK(mapping != nullptr);
  raw_syscall(SYS_mprotect, static_cast<int64_t>(page), kPage, host_protection(mapping->protection));
  for (const auto& tell : code_changed_)
    tell(GuestAddr(page), kPage);
  return true;
}

void AddressSpace::forget_code(uint64_t begin, uint64_t end) {
  release_code_pages(begin, end);
  stale(begin, end);
}

size_t AddressSpace::peek(GuestAddr from, void* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    GuestAddr at = from + done;
    const Mapping* mapping = find(at.value);
    if (mapping == nullptr) break;
    size_t part = std::min<size_t>(size - done, mapping->end - at.value);
    bool hidden = !(host_protection(mapping->protection) & PROT_READ);
    auto begin = static_cast<int64_t>(page_down(at.value));
    auto length = static_cast<int64_t>(page_up(at.value + part)) - begin;
    if (hidden) raw_syscall(SYS_mprotect, begin, length, PROT_READ);
    size_t n = read(at, static_cast<char*>(to) + done, part);
    if (hidden) raw_syscall(SYS_mprotect, begin, length, host_protection(mapping->protection));
    done += n;
    if (n != part) break;
  }
  return done;
}

void AddressSpace::release_code_pages(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> pages;
  for (uint64_t page : code_pages_)
    if (page + kPage > begin && page < end) pages.push_back(page);
  for (uint64_t page : pages)
    release_code_page(GuestAddr(page));
}

bool AddressSpace::release_all_code_pages() {
  if (code_pages_.empty()) return false;
  release_code_pages(0, UINT64_MAX);
  return true;
}

AddressSpace::CodeUnwatched::~CodeUnwatched() {
  space_.code_unwatched_ = false;
  for (uint64_t page : space_.unwatched_pages_)
    for (const auto& tell : space_.code_changed_)
      tell(GuestAddr(page), kPage);
  space_.unwatched_pages_.clear();
}

} // namespace rdb::guest
