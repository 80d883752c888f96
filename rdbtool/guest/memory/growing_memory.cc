// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/growing_memory.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/signals/signal_frame.h"

#include <csignal>
#include <iterator>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// The mapping that would grow to have the address, as the kernel decides it; null if none would.
const Mapping* growing_to(const AddressSpace& space, const GuestLimits& limits, uint64_t address) {
  const auto& mappings = space.mappings();
  auto after = mappings.upper_bound(address);
  if (after == mappings.end() || !(after->second.flags & MAP_GROWSDOWN)) return nullptr;
  const Mapping& mapping = after->second;
  uint64_t page = page_down(address);
  if (!space.in_guest_range(page, mapping.begin)) return nullptr;
  if (after != mappings.begin()) {
    const Mapping& before = std::prev(after)->second;
    bool kept_away_from = !(before.flags & MAP_GROWSDOWN) && before.protection != PROT_NONE;
    if (before.end > page || (kept_away_from && page - before.end < kGuardGap)) return nullptr;
  }
  uint64_t end = mapping.end; // of what is one mapping for the kernel
  for (auto next = std::next(after); next != mappings.end(); ++next) {
    const Mapping& more = next->second;
    if (more.begin != end || more.flags != mapping.flags || more.protection != mapping.protection) break;
    end = more.end;
  }
  return end - page > limits.get(RLIMIT_STACK).rlim_cur ? nullptr : &mapping;
}

} // namespace

std::optional<MadeCall> grow(AddressSpace& space, const GuestLimits& limits, const engine::Fault& fault) {
  if (fault.signal != SIGSEGV || fault.trap_number != kPageFault) return std::nullopt;
  auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  const Mapping* mapping = growing_to(space, limits, address);
  if (mapping == nullptr) return std::nullopt;
  uint64_t page = page_down(address);
  int flags = mapping->flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
  SystemCall call{SYS_mmap,
                  {page, mapping->begin - page, static_cast<uint64_t>(mapping->protection),
                   static_cast<uint64_t>(flags), ~0ull, 0}};
  if (limits.check_memory_call(space, call) != 0) return std::nullopt;
  std::string name = mapping->name;
  uint64_t end = mapping->begin;
  int64_t result = space.mmap(page, end - page, mapping->protection, flags, -1, 0);
  if (result < 0) return std::nullopt;
  if (!name.empty()) space.name(page, end, name);
  return MadeCall{call, result};
}

void refuse_growth(const AddressSpace& space, const GuestLimits& limits, GuestAddr address,
                   const char* what) {
  if (growing_to(space, limits, address.value) == nullptr) return;
  limit("{} in memory that would have to grow for it (MAP_GROWSDOWN) at {:#x}", what, address.value);
}

} // namespace rdb::guest
