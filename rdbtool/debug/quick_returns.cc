// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with the guest's FS base and vector registers: compiled for general registers only, without stack
// protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/debug/returns.h"

namespace rdb::debug {
namespace {

bool is_plain(const guest::AddressSpace& space, uint64_t address) {
  for (const guest::PlainRange& range : space.plain_ranges())
    if (range.holds(address, sizeof(uint64_t))) return true;
  return false;
}

} // namespace

// True if that is all there is to do at this hook.
bool Returns::note(void* self, uint64_t pc, const engine::Registers& registers) {
  Returns& returns = *static_cast<Returns*>(self);
  if (returns.silent_.find(pc) == nullptr) return false;
  uint64_t sp = registers.gpr[engine::RSP];
  const replay::Replayer& replayer = *returns.replayer_;
  if (!is_plain(replayer.space(), sp)) return false;
  Waiting* waiting = returns.by_pc_.find(*GuestAddr(sp).ptr<uint64_t>());
  if (waiting == nullptr || waiting->size == waiting->room) return false;
  Call* calls = waiting->calls.get();
  calls[waiting->size++] = {pc, replayer.thread(), sp + sizeof(uint64_t)};
  return true;
}

} // namespace rdb::debug
