// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/replay_stops.h"

#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/replay/replayer.h"

#include <utility>

namespace rdb::replay {

void ReplayStops::set(std::set<uint64_t> addresses, std::span<const WatchedRange> watched) {
  engine::Engine& engine = replayer_.engine();
  for (uint64_t address : addresses_)
    if (!addresses.contains(address)) engine.remove_stop(GuestAddr(address));
  for (uint64_t address : addresses)
    if (!addresses_.contains(address)) engine.add_stop(GuestAddr(address));
  addresses_ = std::move(addresses);
  if (watching_) engine.clear_watches();
  for (const WatchedRange& range : watched)
    engine.add_watch(range.address, range.size, range.reads, range.writes);
  watching_ = !watched.empty();
}

std::vector<TouchedRange> ReplayStops::next_touched() const {
  constexpr size_t kLongestInstruction = 15;
  uint8_t bytes[kLongestInstruction];
  uint64_t pc = replayer_.registers().rip;
  size_t size = replayer_.space().read(GuestAddr(pc), bytes, sizeof bytes);
  std::vector<TouchedRange> touched;
  engine::Instruction instruction;
  if (!engine::decode(pc, bytes, size, instruction)) return touched;
  for (const engine::MemoryAccess& access : engine::memory_accesses(instruction, replayer_.engine()))
    touched.push_back({GuestAddr(access.address), access.size, access.read, access.write});
  return touched;
}

} // namespace rdb::replay
