// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that translated code lives in, and what is known about it: which block stands for which guest
// address, who is linked to whom, which guest pages each block came from.
#pragma once

#include "rdbtool/engine/arena.h"
#include "rdbtool/engine/block.h"
#include "rdbtool/engine/pc_table.h"
#include "rdbtool/engine/translate/context_switch.h"
#include "rdbtool/engine/watch_filter.h"

#include <span>

namespace rdb::engine {

// Exit numbers with a fixed meaning.
inline constexpr uint32_t kExitIndirectMiss = 0;
inline constexpr uint32_t kExitFault = 1;
inline constexpr uint32_t kExitHooked = UINT32_MAX; // a hook does not want the code behind it to go on

class CodeCache {
public:
  // `place` is where the cache should lie (it is never seen by the guest), `table_place` is below 2 GiB.
  CodeCache(uint64_t place, size_t size, uint64_t table_place);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  State& state() { return *state_; }
  const ContextSwitch& context_switch() const { return context_switch_; }
  uint32_t table_address() const { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(table_)); }

  WatchFilter& watches() { return watches_; }

  Block* find(uint64_t pc) const { return blocks_by_pc_.find(pc); }
  Block* find_step(uint64_t pc) const { return steps_by_pc_.find(pc); }
  Block* find_unit(uint64_t pc) const { return units_by_pc_.find(pc); }
  bool has_page(uint64_t page_number) const { return blocks_by_page_.find(page_number) != nullptr; }
  bool contains(uint64_t address) const {
    return address >= reinterpret_cast<uint64_t>(memory_) &&
           address < reinterpret_cast<uint64_t>(memory_) + size_;
  }
  // The block whose code holds this address, dead or alive; null for the routines of the context switch.
  Block* block_at(uint64_t address);

  // Makes sure that a few translations fit, if need be by flushing everything. To be called while no pointer
  // to a block or exit is held. True if everything was flushed.
  bool make_room();
  Emitter begin_block();
  Block& add_block(uint64_t pc, Flavour flavour);
  void finish_block(Block& block, const Emitter& emit, std::span<const MapEntry> map,
                    std::span<const uint64_t> page_numbers);

  // A 32-bit variable that translated code counts down. Kept away from code: a store near code that runs
  // makes the CPU flush its pipeline.
  int32_t* new_counter();
  // How many uses of a block the host is told of.
  void count_uses_to(int32_t uses) { counted_uses_ = uses; }

  uint32_t add_exit(Block& block, const Exit& exit);
  const Instruction* keep(const Instruction& instruction) { return arena_.copy(instruction); }
  std::span<const Instruction> keep(std::span<const Instruction> instructions) {
    return {arena_.copy(instructions), instructions.size()};
  }
  const Charge* keep(const Charge& charge) { return arena_.copy(charge); }
  Exit& exit(uint32_t number) { return exits_[number]; }
  CodeOffset offset_of(const uint8_t* code) const { return static_cast<CodeOffset>(code - memory_); }
  uint8_t* at(CodeOffset offset) const { return memory_ + offset; }

  void link(uint32_t exit_number, Block& target);
  // Makes the indirect table lead to this block.
  void publish_indirect(Block& block);
  // All ways into the block go through the host again; the block itself stays valid for whoever is in it.
  void unlink(Block& block);

  void invalidate(uint64_t begin, uint64_t end);
  // The same for what may hold the instruction at this address: a hook or a stop there has come or gone. Much
  // else is in the same page as a rule.
  void invalidate_instruction(uint64_t pc);
  // The block is never entered again.
  void kill(Block& block);
  void flush_all();
  bool holds_code() const { return cursor_ != first_; }
  uint64_t generation() const { return generation_; }

  size_t used() const { return static_cast<size_t>(cursor_ - memory_); }
  size_t peak() const { return peak_ > used() ? peak_ : used(); }

private:
  // Who was made from a guest page.
  struct PageUser {
    Block* block;
    PageUser* next;
  };

  // Links the new block's ways out to what is there already.
  void link_exits(const Block& block);
  void emit_stub(const Exit& exit, const Block& target);
  // Code that belongs to a block, but lies elsewhere.
  void add_stub(uint64_t pc, const Emitter& emit, std::span<const MapEntry> map);
  void kill_page(uint64_t page_number);
  void reset();
  void extend_executable();
  void set_next(Block& block, Block* next);
  void withdraw_indirect(Block& block);

  uint8_t* memory_ = nullptr;
  size_t size_ = 0;
  uint8_t* first_ = nullptr; // after the state and the routines of the context switch
  uint8_t* cursor_ = nullptr;
  uint8_t* executable_end_ = nullptr; // grows with the cursor
  uint8_t* code_end_ = nullptr;       // counters lie behind
  int32_t* next_counter_ = nullptr;
  uint8_t** table_ = nullptr;
  State* state_ = nullptr;
  ContextSwitch context_switch_;
  Arena arena_;
  Pool<Block> blocks_{arena_}; // in order of address
  Pool<Exit> exits_{arena_};
  uint32_t first_exit_ = 0; // of the block that is being made
  PcTable<Block> blocks_by_pc_;
  PcTable<Block> steps_by_pc_;
  PcTable<Block> units_by_pc_;
  PcTable<PageUser, 0> blocks_by_page_;
  PcTable<Block, 0> slots_; // by slot of the indirect table: the first of its chain
  WatchFilter watches_;
  int32_t counted_uses_ = INT32_MAX;
  size_t dead_bytes_ = 0;
  size_t peak_ = 0;
  uint64_t generation_ = 0;
};

} // namespace rdb::engine
