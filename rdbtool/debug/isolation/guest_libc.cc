// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/guest_libc.h"

#include <cstring>
#include <span>

namespace rdb::debug {
namespace {

constexpr std::array<std::string_view, 5> kAllocators = {"malloc", "calloc", "realloc", "aligned_alloc",
                                                         "memalign"};

} // namespace

// The function loads the offset from a word that the dynamic linker has filled:
// endbr64; mov rax, [rip + distance]; add rax, fs:0; ret.
std::optional<uint64_t> errno_offset_in(engine::GuestMemory& memory, uint64_t errno_location) {
  constexpr uint8_t kEndbr[] = {0xF3, 0x0F, 0x1E, 0xFA};
  constexpr uint8_t kLoad[] = {0x48, 0x8B, 0x05};
  uint8_t code[16] = {};
  memory.read(GuestAddr(errno_location), code, sizeof code);
  const size_t at = std::memcmp(code, kEndbr, sizeof kEndbr) == 0 ? sizeof kEndbr : 0;
  if (std::memcmp(code + at, kLoad, sizeof kLoad) != 0) return std::nullopt;
  int32_t distance;
  std::memcpy(&distance, code + at + sizeof kLoad, sizeof distance);
  const uint64_t next = errno_location + at + sizeof kLoad + sizeof distance;
  uint64_t offset = 0;
  GuestAddr word(next + static_cast<uint64_t>(int64_t{distance}));
  if (memory.read(word, &offset, sizeof offset) != sizeof offset) return std::nullopt;
  return offset;
}

void GuestLibc::attach(const ProgramFile& file, uint64_t begin) {
  auto address = [&](std::string_view name) {
    std::optional<uint64_t> found = file.exported(name);
    return found ? *found + file.bias(begin) : 0;
  };
  auto addresses = [&](std::span<const std::string_view> names) {
    std::vector<uint64_t> found;
    for (std::string_view name : names)
      found.push_back(address(name));
    std::erase(found, 0);
    return found;
  };
  errno_location_ = address("__errno_location");
  streams_ = {address("_IO_2_1_stdout_"), address("_IO_2_1_stderr_")};
  nonlocal_exits_.clear();
  if (address("gnu_get_libc_version") == 0) return;
  nonlocal_exits_ = addresses(kNonlocalExits);
  allocators_ = addresses(kAllocators);
}

int GuestLibc::errno_of(guest::AddressSpace& space, uint64_t thread_pointer) {
  if (errno_location_ == 0) return 0;
  if (!errno_offset_) {
    errno_offset_ = errno_offset_in(space, errno_location_);
    if (!errno_offset_) {
      errno_location_ = 0; // another libc
      return 0;
    }
  }
  int value = 0;
  GuestAddr from(thread_pointer + *errno_offset_);
  if (space.is_plain(from.value, sizeof value))
    std::memcpy(&value, from.ptr(), sizeof value);
  else
    space.read(from, &value, sizeof value);
  return value;
}

} // namespace rdb::debug
