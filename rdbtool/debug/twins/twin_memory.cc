// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/twin_memory.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace rdb::debug {
namespace {

constexpr uint64_t kStep = 1 << 20;            // memory is made usable in steps of this size
constexpr uint8_t kUndefined[] = {0x0F, 0x0B}; // ud2

} // namespace

TwinMemory::TwinMemory(uint64_t begin, uint64_t end, Use use)
    : begin_(begin), end_(end),
      protection_(PROT_READ | PROT_WRITE | (use == Use::run_directly ? PROT_EXEC : 0)) {
  RDB_CHECK(begin % kStep == 0 && end % kStep == 0 && end - begin >= 8 * kStep);
  // An eighth each is more than enough for stubs and for poison: 2 million stubs of the usual range.
  memory_begin_ = guest::page_up(begin + (end - begin) / 8);
  poison_begin_ = guest::page_down(end - (end - begin) / 4);
  stubs_committed_ = begin;
  memory_committed_ = next_ = memory_begin_;
  next_poison_ = poison_begin_;
  void* memory = mmap(reinterpret_cast<void*>(begin), end - begin, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) limit("twins need the addresses {:#x} to {:#x}, which are in use", begin, end);
  if (memory != reinterpret_cast<void*>(begin)) {
    munmap(memory, end - begin);
    limit("twins need the addresses {:#x} to {:#x}, which are in use", begin, end);
  }
}

TwinMemory::~TwinMemory() {
  munmap(reinterpret_cast<void*>(begin_), end_ - begin_);
}

void TwinMemory::commit(uint64_t& committed, uint64_t wanted, uint64_t limit_of_part) const {
  if (wanted > limit_of_part) limit("twins of more than {} MiB", (poison_begin_ - memory_begin_) >> 20);
  if (wanted <= committed) return;
  uint64_t to = std::min(limit_of_part, (wanted + kStep - 1) & ~(kStep - 1));
  if (mprotect(reinterpret_cast<void*>(committed), to - committed, protection_) != 0)
    user_error("no memory for twins");
  committed = to;
}

uint64_t TwinMemory::add_stub(TwinStub stub) {
  uint64_t address = begin_ + stubs_.size() * kStubSize;
  commit(stubs_committed_, address + kStubSize, memory_begin_);
  for (uint64_t at = 0; at < kStubSize; at += sizeof kUndefined)
    std::memcpy(reinterpret_cast<void*>(address + at), kUndefined, sizeof kUndefined);
  stubs_.push_back(std::move(stub));
  return address;
}

uint64_t TwinMemory::take(uint64_t size, uint64_t alignment) {
  alignment = std::max<uint64_t>(alignment, 1);
  if (!std::has_single_bit(alignment) || alignment > kStep) limit("twins with an alignment of {}", alignment);
  uint64_t begin = (next_ + alignment - 1) & ~(alignment - 1);
  if (begin > poison_begin_ || size > poison_begin_ - begin)
    limit("twins of more than {} MiB", (poison_begin_ - memory_begin_) >> 20);
  commit(memory_committed_, begin + size, poison_begin_);
  next_ = begin + size;
  return begin;
}

uint64_t TwinMemory::add_poison(uint64_t size, std::string why) {
  // An index that is a little off must not lead to the next variable's reason: a page between.
  if (size > end_ - next_poison_)
    limit("twins that refer to {} more bytes which the program does not have", size);
  uint64_t room = guest::page_up(std::max<uint64_t>(size, 1)) + guest::kPage;
  if (room > end_ - next_poison_)
    limit("twins that refer to {} more bytes which the program does not have", size);
  uint64_t begin = next_poison_;
  next_poison_ += room;
  poison_.emplace(begin, Poison{next_poison_, std::move(why)});
  return begin;
}

const TwinStub* TwinMemory::stub(uint64_t address) const {
  if (address < begin_ || (address - begin_) % kStubSize != 0) return nullptr;
  uint64_t index = (address - begin_) / kStubSize;
  return index < stubs_.size() ? &stubs_[index] : nullptr;
}

const std::string* TwinMemory::why_refused(uint64_t address) const {
  if (const TwinStub* found = stub(address))
    return found->kind == TwinStub::Kind::refused ? &found->why : nullptr;
  auto next = poison_.upper_bound(address);
  if (next == poison_.begin()) return nullptr;
  const Poison& poison = std::prev(next)->second;
  return address < poison.end ? &poison.why : nullptr;
}

} // namespace rdb::debug
