// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread of the program that has come to an instruction where debug code is called, and the memory that
// it sees. That is all of a replay that most of debug/ has to know, and it can be had without a recording.
#pragma once

#include "rdbtool/engine/translator.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/replay/replayer.h"

namespace rdb::debug {

struct StoppedThread {
  engine::Translator& engine; // which has the thread's registers, and calls hooks
  guest::AddressSpace& space;
  ThreadId id;

  const engine::Registers& registers() const { return engine.registers(); }
  uint64_t stack_pointer() const { return engine.registers().gpr[engine::RSP]; }
  // The word at this address; nothing if the program cannot read it.
  std::optional<uint64_t> word_at(uint64_t address) const {
    uint64_t word = 0;
    if (space.read(GuestAddr(address), &word, sizeof word) != sizeof word) return std::nullopt;
    return word;
  }
};

inline StoppedThread stopped_thread(replay::Replayer& replayer) {
  return {replayer.translator(), replayer.space(), replayer.thread()};
}

} // namespace rdb::debug
