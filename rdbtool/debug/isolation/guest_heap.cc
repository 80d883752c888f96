// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/guest_heap.h"

#include "rdbtool/debug/isolation/guest_libc.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

// In glibc the word in front of a block has its size, with this word and three flags.
constexpr uint64_t kFlags = 7;
constexpr uint64_t kMapped = 2; // by itself: it is gone as a whole

uint64_t word_at(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

} // namespace

void GuestHeap::begin() {
  calls_.clear();
  if (functions_ == libc_.allocators()) return;
  functions_ = libc_.allocators();
  for (uint64_t function : functions_)
    engine_.add_stop(GuestAddr(function));
}

std::optional<GuestHeap::Allocation> GuestHeap::stopped() {
  const engine::Registers& regs = engine_.registers();
  uint64_t sp = regs.gpr[engine::RSP];
  if (std::find(functions_.begin(), functions_.end(), regs.rip) != functions_.end()) {
    AllocatorCall call{word_at(sp), sp + sizeof(uint64_t)};
    if (!engine_.has_stop(GuestAddr(call.back))) engine_.add_stop(GuestAddr(call.back));
    calls_.push_back(call);
    return std::nullopt;
  }
  while (!calls_.empty() && calls_.back().sp < sp) // left by longjmp()
    calls_.pop_back();
  if (calls_.empty() || calls_.back().sp != sp || calls_.back().back != regs.rip) return std::nullopt;
  calls_.pop_back();
  uint64_t block = regs.gpr[engine::RAX];
  if (block == 0) return std::nullopt;
  uint64_t header = word_at(block - sizeof header);
  if (header & kMapped) return std::nullopt;
  return Allocation{block, (header & ~kFlags) - sizeof header};
}

} // namespace rdb::debug
