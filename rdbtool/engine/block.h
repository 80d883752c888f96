// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A translated piece of guest code: a basic block, a hot path (superblock), or a single instruction for
// stepping. It knows how to turn each of its own addresses back into the guest's state.
#pragma once

#include "rdbtool/engine/instructions/decode.h"
#include "rdbtool/engine/state.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdb::engine {

struct Block;

// What a hook calls if nobody else hooks the same address; else, and if this is null, the hook of all
// addresses is called.
struct DirectHook {
  // `context`: the same as that of all addresses.
  void (*function)(void* context, void* argument, uint64_t pc) = nullptr;
  void* argument = nullptr;
  // Is called first, like FastSyscall: with the guest's FS base and vector registers in place, unless it
  // calls Translator::leave_fast_hook(). False: it has done nothing, and `function` is to be called.
  bool (*fast)(void* context, void* argument, uint64_t pc) = nullptr;
};

// Who hooks an address.
struct HookUse {
  uint32_t users = 0;
  DirectHook direct;
};

enum class Flavour : uint8_t {
  basic,
  superblock,
  step, // one instruction
  unit, // straight code of which every way out leads to the host, without a charge
};

enum class ExitKind : uint8_t {
  direct,   // to a known guest address; linked when that is translated
  indirect, // to the address in State::indirect_target
  limit,    // the instruction budget is used up
  hot,      // a basic block was executed often
  limit_or_hot,
  system_call,
  input,
  emulated,
  invalid,
  refused,
  watch,   // before an instruction that may touch a watched range
  stop,    // before an address at which a stop was requested
  hook,    // before an instruction that is hooked; goes on at `resume`
  step,    // an instruction whose stores the host has to log
  changed, // the guest's code is not what was translated
};

// A way out of a block. Its number is what translated code stores before it goes to the host.
struct Exit {
  Block* block = nullptr;
  uint64_t target = 0;                      // guest pc to go on at
  const Instruction* instruction = nullptr; // for the kinds that the host has to carry out
  const HookUse* hook = nullptr;            // hook: who is called, if there is only one
  CodeOffset branch = 0;                    // direct: the rel32 field that links it
  CodeOffset tail = 0;                      // direct: where the field points while unlinked
  CodeOffset resume = 0;                    // limit, hot, hook: where to go on as if nothing happened
  // An exit in the middle of a path: the branch off the path, the code behind it that settles the charge, and
  // what is settled there. A link stub may take the place of that code: see link_stub.h.
  CodeOffset side_branch = 0;
  CodeOffset side_code = 0;
  uint32_t next_incoming = 0; // the next exit that is linked to the same block
  int16_t side_owed = 0;
  int16_t owed = 0; // instructions executed but not yet charged when the host gets control
  ExitKind kind = ExitKind::direct;
  bool linked = false;
  // watch, where it can go on at `resume`: the access, whose address is in State::watched_address.
  uint8_t access_size = 0;
  bool reads : 1 = false;
  bool writes : 1 = false;
};

// Registers whose guest value is in a spill slot while a rewritten sequence runs.
enum Spill : uint8_t {
  kSpillNone = 0,
  kSpillRcx = 1,     // in State::spill_rcx
  kSpillRax = 2,     // in State::spill_rax
  kSpillScratch = 4, // the register named in the map entry, in State::spill_scratch
  kBudgetInRcx = 8,  // rcx holds the budget and will be stored back
  kBudgetInRax = 16, // the same with rax
  kTraps = 32,       // the CPU tells of a watched write by this instruction: see WatchFilter::trapped()
  kFetches = 64,     // the guest's code is compared: an access that faults is a fetch of the guest's
};

// What a place in a block means for the guest; valid up to the next entry. There are several for each
// instruction, so they are small.
class MapEntry {
public:
  MapEntry(ptrdiff_t offset, uint64_t pc, int owed, uint8_t spill, uint8_t scratch = 0)
      : pc_low_(static_cast<uint32_t>(pc)), pc_high_(static_cast<int16_t>(pc >> 32)),
        offset_(static_cast<uint16_t>(offset)), owed_(static_cast<int16_t>(owed)), spill_(spill),
        scratch_(scratch) {}

  uint32_t offset() const { return offset_; } // from Block::begin
  uint64_t pc() const { return static_cast<uint64_t>(int64_t{pc_high_}) << 32 | pc_low_; }
  // Instructions executed here but not yet charged (negative: charged but not executed).
  int owed() const { return owed_; }
  uint8_t spill() const { return spill_; }
  uint8_t scratch() const { return scratch_; } // kSpillScratch: which register
  bool same_state(const MapEntry& other) const {
    return pc_low_ == other.pc_low_ && pc_high_ == other.pc_high_ && owed_ == other.owed_ &&
           spill_ == other.spill_ && scratch_ == other.scratch_;
  }

private:
  uint32_t pc_low_;
  int16_t pc_high_; // guest addresses have 47 bits
  uint16_t offset_;
  int16_t owed_;
  uint8_t spill_;
  uint8_t scratch_;
};

// How a block is charged, for those who want to do that for it.
struct Charge {
  int32_t amount = 0;
  std::span<const Instruction> before; // the guest instructions that stand before the charge
  uint64_t pc = 0;                     // of the guest instruction behind it, which overwrites all flags
  uint8_t* over = nullptr;             // where to go when that made the budget negative
  uint8_t* done = nullptr;             // where to go when not
};

struct Block {
  uint64_t pc = 0;
  Flavour flavour = Flavour::basic;
  uint8_t* begin = nullptr; // also where direct links go
  uint8_t* end = nullptr;
  uint8_t* indirect_entry = nullptr; // where the indirect table goes, made when needed
  uint8_t* indirect_next = nullptr;  // there: the branch taken if the target is another
  Block* next_in_slot = nullptr;     // which leads to this one
  uint32_t instructions = 0;         // on the whole main path
  bool dead = false;                 // flushed; its memory stays until the whole cache goes
  const Charge* charge = nullptr;    // null: not for others to do
  uint32_t incoming = 0;             // the first exit that is linked to it, 0 if none
  std::span<const MapEntry> map;     // in order of offset
};

} // namespace rdb::engine
