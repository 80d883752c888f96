// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/read_into_itself.h"

#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <climits>
#include <sys/mman.h>
#include <sys/stat.h>

namespace rdb::record {
namespace {

uint64_t address_of(const iovec& range) {
  return reinterpret_cast<uint64_t>(range.iov_base);
}

// False if the call fails before it reads anything.
bool read_vectors(const guest::SystemCall& call, guest::AddressSpace& space, std::vector<iovec>& vectors) {
  uint64_t count = call.arguments[2];
  if (count > IOV_MAX) return false;
  vectors.resize(count);
  size_t size = count * sizeof(iovec);
  return space.read(GuestAddr(call.arguments[1]), vectors.data(), size) == size;
}

bool is_written_by(const guest::Mapping& mapping, const std::vector<iovec>& ranges) {
  return std::ranges::any_of(ranges, [&](const iovec& range) {
    uint64_t begin = address_of(range);
    return begin < mapping.end && mapping.begin < begin + std::min<uint64_t>(range.iov_len, INT32_MAX);
  });
}

} // namespace

bool ReadIntoItself::find(const guest::SystemCall& call, Descriptors& descriptors,
                          guest::AddressSpace& space) {
  found_ = false;
  DataForm form = properties_of(call.number).reads;
  if (form == DataForm::none) return false;
  int fd = static_cast<int>(call.arguments[0]);
  Descriptors::Facts facts = descriptors.facts(fd, space);
  struct stat info;
  if (!facts.mapped || !facts.regular || fstat(fd, &info) != 0) return false;
  has_vectors_ = form == DataForm::vectors;
  if (!has_vectors_)
    ranges_ = {{reinterpret_cast<void*>(call.arguments[1]), call.arguments[2]}};
  else if (!read_vectors(call, space, ranges_))
    return false;
  found_ = std::ranges::any_of(space.mappings(), [&](const auto& entry) {
    const guest::Mapping& mapping = entry.second;
    return mapping.inode == info.st_ino && mapping.device == info.st_dev && mapping.flags & MAP_SHARED &&
           mapping.protection & PROT_WRITE && is_written_by(mapping, ranges_);
  });
  if (!found_) return false;
  // Memory with translated code may be protected from the kernel, too.
  for (const iovec& range : ranges_) {
    uint64_t end = address_of(range) + std::min<uint64_t>(range.iov_len, INT32_MAX);
    space.forget_code(guest::page_down(address_of(range)), guest::page_up(end));
  }
  return true;
}

SyscallArgs ReadIntoItself::arguments(const guest::SystemCall& call) const {
  SyscallArgs result = call.arguments;
  if (has_vectors_) result[1] = reinterpret_cast<uint64_t>(ranges_.data());
  return result;
}

const std::vector<MemoryWrite>& ReadIntoItself::writes(int64_t result) {
  writes_.clear();
  auto rest = static_cast<size_t>(std::max<int64_t>(result, 0));
  for (const iovec& range : ranges_) {
    size_t size = std::min(range.iov_len, rest);
    rest -= size;
    if (size != 0)
      writes_.push_back({GuestAddr(address_of(range)), static_cast<const uint8_t*>(range.iov_base), size});
  }
  return writes_;
}

} // namespace rdb::record
