// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/stack_limit.h"

#include "rdbtool/guest/memory/address_space.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr uint64_t kDefaultStack = 8u << 20;
constexpr uint64_t kLargestStack = 1u << 30;
constexpr char kName[] = "[stack]";

// Where the part of the stack that has been used begins: so far it has grown, and so far it stays.
uint64_t used_from(uint64_t bottom, uint64_t top) {
  constexpr uint64_t kPresentOrSwapped = 3ull << 62;
  std::vector<uint64_t> words((top - bottom) / kPage);
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  ssize_t n = pread(pagemap, words.data(), words.size() * 8, static_cast<off_t>(bottom / kPage * 8));
  if (pagemap >= 0) close(pagemap);
  if (n != static_cast<ssize_t>(words.size() * 8)) return bottom; // it is not known
  auto used = std::ranges::find_if(words, [](uint64_t word) { return (word & kPresentOrSwapped) != 0; });
  return bottom + static_cast<uint64_t>(used - words.begin()) * kPage;
}

} // namespace

uint64_t stack_size(uint64_t limit) {
  if (limit == RLIM_INFINITY) return kDefaultStack;
  return std::clamp<uint64_t>(page_up(limit), 128 * 1024, kLargestStack);
}

std::optional<MadeCall> fit_stack(AddressSpace& space, uint64_t limit) {
  uint64_t top = space.layout().stack_top;
  uint64_t bottom = top;
  Mapping lowest;
  for (const Mapping* part = space.find(top - 1); part != nullptr && part->name == kName;
       part = space.find(bottom - 1)) {
    bottom = part->begin;
    lowest = *part;
  }
  if (bottom == top) return std::nullopt;
  uint64_t wanted = top - (limit == RLIM_INFINITY ? kLargestStack : stack_size(limit));
  if (wanted > bottom) wanted = std::min(wanted, used_from(bottom, top));
  SystemCall call;
  int64_t result = -1;
  if (wanted > bottom) {
    call = {SYS_munmap, {bottom, wanted - bottom}};
    result = space.munmap(bottom, wanted - bottom);
  } else if (wanted < bottom) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE;
    call = {SYS_mmap, {wanted, bottom - wanted, static_cast<uint64_t>(lowest.protection), kFlags, ~0ull, 0}};
    // Where something else is in the way, the stack stays as it is.
    result = space.mmap(wanted, bottom - wanted, lowest.protection, kFlags, -1, 0);
    if (result >= 0) space.name(wanted, bottom, kName);
  }
  if (result < 0) return std::nullopt;
  return MadeCall{call, result};
}

} // namespace rdb::guest
