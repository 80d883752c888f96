// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/object_views.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/nonzero_pages.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace rdb::guest {
namespace {

int make_file() {
  int fd = move_out_of_reach(memfd_create("rdb", MFD_CLOEXEC));
  if (fd < 0) limit("no memory file can be made for memory that is mapped twice: {}", std::strerror(errno));
  return fd;
}

void set_length(int fd, uint64_t size) {
  if (ftruncate(fd, static_cast<off_t>(size)) != 0)
    limit("memory that is mapped twice needs {} bytes: {}", size, std::strerror(errno));
}

void put(int fd, const void* bytes, size_t size, uint64_t offset) {
  if (pwrite(fd, bytes, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size))
    limit("memory that is mapped twice cannot be copied: {}", std::strerror(errno));
}

// Only what holds data: such an object may have holes of terabytes.
int copy_of(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) bug("a memory file of rdb's is gone");
  int copy = make_file();
  set_length(copy, static_cast<uint64_t>(info.st_size));
  std::vector<char> bytes(1 << 20);
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(fd, at, SEEK_HOLE);
    while (at < end) {
      const auto part = std::min<size_t>(bytes.size(), static_cast<size_t>(end - at));
      const ssize_t n = pread(fd, bytes.data(), part, at);
      if (n <= 0) bug("a memory file of rdb's cannot be read");
      put(copy, bytes.data(), static_cast<size_t>(n), static_cast<uint64_t>(at));
      at += n;
    }
  }
  return copy;
}

} // namespace

ObjectViews::~ObjectViews() {
  for (const auto& [object, fd] : files_)
    close_own_descriptor(fd);
}

int ObjectViews::file(uint64_t object, uint64_t size) {
  auto [known, fresh] = files_.try_emplace(object, -1);
  if (fresh) known->second = make_file();
  struct stat info;
  if (fstat(known->second, &info) == 0 && static_cast<uint64_t>(info.st_size) < size)
    set_length(known->second, size);
  return known->second;
}

void ObjectViews::keep_only(const std::set<uint64_t>& used) {
  std::erase_if(files_, [&](const auto& entry) {
    if (used.contains(entry.first)) return false;
    close_own_descriptor(entry.second);
    return true;
  });
}

void ObjectViews::make_copies() {
  for (const auto& [object, fd] : files_)
    copies_[object] = copy_of(fd);
}

std::map<uint64_t, int> ObjectViews::take_copies() {
  for (const auto& [object, fd] : files_)
    close_own_descriptor(fd);
  files_ = std::exchange(copies_, {});
  return files_;
}

void ObjectViews::drop_copies() {
  for (const auto& [object, fd] : copies_)
    close_own_descriptor(fd);
  copies_.clear();
}

std::vector<AddressRange> parts_without_view(const std::vector<Mapping>& views, uint64_t begin,
                                             uint64_t end) {
  std::vector<AddressRange> result = {{begin, end}};
  for (const Mapping& view : views) {
    const uint64_t from = view.offset;
    const uint64_t to = view.offset + (view.end - view.begin);
    std::vector<AddressRange> rest;
    for (const AddressRange& part : result) {
      if (!part.overlaps(from, to)) {
        rest.push_back(part);
        continue;
      }
      if (part.begin < from) rest.push_back({part.begin, from});
      if (part.end > to) rest.push_back({to, part.end});
    }
    result = std::move(rest);
  }
  return result;
}

void clear_object(int fd, const AddressRange& part) {
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(part.begin),
                static_cast<off_t>(part.end - part.begin)) != 0)
    limit("memory that is mapped twice cannot be cleared: {}", std::strerror(errno));
}

std::vector<Mapping> AddressSpace::views_of(uint64_t object) const {
  std::vector<Mapping> result;
  for (const auto& [begin, mapping] : mappings_)
    if (mapping.view == object) result.push_back(mapping);
  return result;
}

void AddressSpace::map_view(Mapping mapping, int fd) {
  const int64_t result =
      raw_syscall(SYS_mmap, static_cast<int64_t>(mapping.begin),
                  static_cast<int64_t>(mapping.end - mapping.begin), host_protection(mapping.protection),
                  MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, static_cast<int64_t>(mapping.offset));
  if (result < 0)
    limit("cannot map {:#x}-{:#x} again: {}", mapping.begin, mapping.end,
          std::strerror(static_cast<int>(-result)));
  mapping.copy = fd;
  insert(mapping);
  stale(mapping.begin, mapping.end);
}

int AddressSpace::open_object(uint64_t object, uint64_t begin, uint64_t end) {
  const int fd = object_views_.file(object, end);
  for (const AddressRange& part : parts_without_view(views_of(object), begin, end))
    clear_object(fd, part);
  return fd;
}

void AddressSpace::restore_view(const Mapping& mapping) {
  const uint64_t end = mapping.offset + (mapping.end - mapping.begin);
  map_view(mapping, open_object(mapping.view, mapping.offset, end));
}

void AddressSpace::make_view(uint64_t begin, uint64_t end, uint64_t object, uint64_t offset) {
  for (Mapping piece : pieces_of(begin, end)) {
    if (piece.view == object) continue;
    piece.offset = offset + (piece.begin - begin);
    const int fd = open_object(object, piece.offset, piece.offset + (piece.end - piece.begin));
    PossiblePages possible(piece);
    std::byte bytes[kPage];
    for (uint64_t page = possible.next(piece.begin); page < piece.end; page = possible.next(page + kPage))
      if (peek(GuestAddr(page), bytes, kPage) == kPage)
        put(fd, bytes, kPage, piece.offset + (page - piece.begin));
    piece.view = object;
    map_view(piece, fd);
  }
}

void AddressSpace::close_unused_objects() {
  std::set<uint64_t> used;
  for (const auto& [begin, mapping] : mappings_)
    used.insert(mapping.view);
  object_views_.keep_only(used);
}

pid_t fork_copy(AddressSpace& space) {
  ObjectViews& views = space.object_views();
  views.make_copies();
  const pid_t child = fork();
  if (child == 0)
    space.use_copies(views.take_copies());
  else
    views.drop_copies();
  return child;
}

void AddressSpace::use_copies(const std::map<uint64_t, int>& files) {
  for (const auto& [object, fd] : files)
    for (const Mapping& view : views_of(object))
      map_view(view, fd);
}

} // namespace rdb::guest
