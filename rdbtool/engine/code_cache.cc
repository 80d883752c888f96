// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/code_cache.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/engine/translate/link_stub.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace rdb::engine {
namespace {

// The indirect table, and those of the watches after it.
constexpr size_t kTablesSize = kIndirectSlots * sizeof(uint8_t*) + WatchFilter::kTables * WatchFilter::kTable;
constexpr size_t kRoom = 256 * 1024;
constexpr size_t kExecutableStep = 2 << 20; // a huge page
constexpr size_t kDeadBytes = 2 << 20;      // less is not worth a new start

uint8_t* map_host(uint64_t place, size_t size, int protection, const char* what) {
  void* memory = mmap(reinterpret_cast<void*>(place), size, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) limit("cannot map {} at {:#x} ({})", what, place, std::strerror(errno));
  return static_cast<uint8_t*>(memory);
}

// The same function as Emitter::hash_to_rax(): the low bits are as different as any others.
size_t indirect_hash(uint64_t pc) {
  return pc & 0xFFFF;
}

constexpr int kLongestChain = 6;

} // namespace

CodeCache::CodeCache(uint64_t place, size_t size, uint64_t table_place) : size_(size) {
  memory_ = map_host(place, size, PROT_READ | PROT_WRITE, "the code cache");
  table_ = reinterpret_cast<uint8_t**>(
      map_host(table_place, kTablesSize, PROT_READ | PROT_WRITE, "the branch table"));
  // Code in huge pages needs fewer entries of the CPU's translation buffers. Where there are none: as well.
  madvise(memory_, size, MADV_HUGEPAGE);
  madvise(table_, kIndirectSlots * sizeof(uint8_t*), MADV_POPULATE_WRITE);
  watches_.set_tables(reinterpret_cast<uint8_t*>(table_ + kIndirectSlots));
  state_ = new (memory_) State;
  Emitter emit(memory_ + ((sizeof(State) + 4095) & ~size_t{4095}), memory_ + size);
  context_switch_ = emit_context_switch(emit, *state_, cpu(), kExitIndirectMiss);
  first_ = memory_ + ((static_cast<size_t>(emit.here() - memory_) + 63) & ~size_t{63});
  code_end_ = memory_ + size / 16 * 15;
  cursor_ = first_;
  executable_end_ = memory_;
  extend_executable();
  reset();
}

// Executable is only what is in use and a little more: it is easier to tell addresses of code from numbers.
void CodeCache::extend_executable() {
  while (executable_end_ < code_end_ && executable_end_ - cursor_ < static_cast<ptrdiff_t>(kRoom)) {
    size_t size = std::min<size_t>(kExecutableStep, static_cast<size_t>(code_end_ - executable_end_));
    if (::mprotect(executable_end_, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
      limit("cannot make memory executable ({}): is that forbidden here?", std::strerror(errno));
    executable_end_ += size;
  }
}

CodeCache::~CodeCache() {
  munmap(memory_, size_);
  munmap(table_, kTablesSize);
}

void CodeCache::reset() {
  peak_ = peak();
  cursor_ = first_;
  next_counter_ = reinterpret_cast<int32_t*>(code_end_);
  blocks_.clear();
  exits_.clear();
  blocks_by_pc_.clear();
  steps_by_pc_.clear();
  units_by_pc_.clear();
  blocks_by_page_.clear();
  slots_.clear();
  arena_.clear();
  dead_bytes_ = 0;
  std::fill_n(table_, kIndirectSlots, context_switch_.indirect_miss);
  exits_.add({.kind = ExitKind::indirect}); // kExitIndirectMiss
  exits_.add({});                           // kExitFault
}

Block* CodeCache::block_at(uint64_t address) {
  auto* place = reinterpret_cast<uint8_t*>(address);
  size_t begin = 0;
  size_t end = blocks_.size(); // the first that begins after the place is in [begin, end]
  while (begin != end) {
    size_t middle = begin + (end - begin) / 2;
    if (place < blocks_[middle].begin)
      end = middle;
    else
      begin = middle + 1;
  }
  if (begin == 0) return nullptr;
  Block& block = blocks_[begin - 1];
  return place < block.end ? &block : nullptr;
}

bool CodeCache::make_room() {
  bool counters_full = reinterpret_cast<uint8_t*>(next_counter_ + 1024) > memory_ + size_;
  // Code that goes and comes again must not pile up.
  bool mostly_dead = dead_bytes_ > kDeadBytes && dead_bytes_ > used() / 2;
  if (static_cast<size_t>(code_end_ - cursor_) < kRoom || counters_full || mostly_dead) {
    flush_all();
    return true;
  }
  extend_executable();
  return false;
}

Emitter CodeCache::begin_block() {
  RDB_CHECK(static_cast<size_t>(code_end_ - cursor_) >= kRoom / 4);
  return {cursor_, code_end_};
}

Block& CodeCache::add_block(uint64_t pc, Flavour flavour) {
  first_exit_ = static_cast<uint32_t>(exits_.size());
  Block& block = blocks_.add({});
  block.pc = pc;
  block.flavour = flavour;
  block.begin = cursor_;
  return block;
}

void CodeCache::finish_block(Block& block, const Emitter& emit, std::span<const MapEntry> map,
                             std::span<const uint64_t> page_numbers) {
  block.end = emit.here();
  RDB_CHECK(block.end - block.begin <= UINT16_MAX); // MapEntry::offset()
  cursor_ = memory_ + ((static_cast<size_t>(block.end - memory_) + 15) & ~size_t{15});
  block.map = {arena_.copy(map), map.size()};
  for (uint64_t page : page_numbers)
    blocks_by_page_.set(page, arena_.copy(PageUser{&block, blocks_by_page_.find(page)}));
  switch (block.flavour) {
  case Flavour::step:
    steps_by_pc_.set(block.pc, &block);
    return;
  case Flavour::unit:
    units_by_pc_.set(block.pc, &block);
    return;
  case Flavour::basic:
  case Flavour::superblock:
    blocks_by_pc_.set(block.pc, &block);
    link_exits(block);
    return;
  }
}

void CodeCache::link_exits(const Block& block) {
  for (auto number = first_exit_; number < exits_.size(); ++number) {
    const Exit& exit = exits_[number];
    // A way off a hot path may never be taken: a link stub for it waits until it is.
    if (exit.branch == 0 || (block.flavour == Flavour::superblock && exit.side_branch != 0)) continue;
    if (Block* target = find(exit.target)) link(number, *target);
  }
}

int32_t* CodeCache::new_counter() {
  *next_counter_ = counted_uses_;
  return next_counter_++;
}

uint32_t CodeCache::add_exit(Block& block, const Exit& exit) {
  auto number = static_cast<uint32_t>(exits_.size());
  exits_.add(exit).block = &block;
  return number;
}

void CodeCache::link(uint32_t exit_number, Block& target) {
  Exit& exit = exits_[exit_number];
  if (exit.branch == 0 || exit.linked || target.dead) return;
  Patch{at(exit.branch)}.to(target.begin);
  emit_stub(exit, target);
  exit.linked = true;
  exit.next_incoming = target.incoming;
  target.incoming = exit_number;
}

// Only hot code is worth it.
void CodeCache::emit_stub(const Exit& exit, const Block& target) {
  if (exit.side_branch == 0 || exit.block->flavour != Flavour::superblock ||
      target.flavour != Flavour::superblock)
    return;
  std::vector<MapEntry> map;
  Emitter emit = begin_block();
  uint8_t* place = emit.here();
  if (!emit_link_stub(emit, *state_, exit.side_owed, target, map)) return;
  add_stub(target.pc, emit, map);
  Patch{at(exit.side_branch)}.to(place);
}

void CodeCache::add_stub(uint64_t pc, const Emitter& emit, std::span<const MapEntry> map) {
  Block& stub = blocks_.add({});
  stub.pc = pc;
  stub.dead = true; // not a block of its own: never found, never linked
  stub.begin = cursor_;
  stub.end = emit.here();
  stub.map = {arena_.copy(map), map.size()};
  cursor_ = memory_ + ((static_cast<size_t>(stub.end - memory_) + 15) & ~size_t{15});
}

void CodeCache::publish_indirect(Block& block) {
  // Each slot has a chain of blocks, the newest first; what it has too many of is forgotten.
  uint64_t slot = indirect_hash(block.pc);
  Block* head = slots_.find(slot);
  int length = 1;
  for (Block* other = head; other != nullptr; other = other->next_in_slot) {
    if (other == &block) return;
    if (++length == kLongestChain) set_next(*other, nullptr);
  }
  if (block.indirect_entry == nullptr) {
    // rcx holds the target that the table was asked for: go on only if it is this block's.
    Emitter emit = begin_block();
    block.indirect_entry = emit.here();
    if (fits_int32(block.pc) && fits_int32(-block.pc)) {
      emit.lea_offset(RCX, static_cast<int32_t>(-block.pc));
    } else {
      emit.mov_imm64(RAX, -block.pc);
      emit.lea_sum(RCX, RAX);
    }
    uint8_t* match = emit.jrcxz();
    emit.mov_imm64(RAX, block.pc);
    emit.lea_sum(RCX, RAX);
    block.indirect_next = emit.jmp().field;
    emit.land(match);
    emit.load(RAX, &state_->spill_rax);
    emit.load(RCX, &state_->spill_rcx);
    emit.jmp_to(block.begin);
    add_stub(block.pc, emit, {});
  }
  set_next(block, head);
  slots_.set(slot, &block);
  table_[slot] = block.indirect_entry;
}

void CodeCache::set_next(Block& block, Block* next) {
  block.next_in_slot = next;
  Patch{block.indirect_next}.to(next != nullptr ? next->indirect_entry : context_switch_.indirect_miss);
}

void CodeCache::withdraw_indirect(Block& block) {
  uint64_t slot = indirect_hash(block.pc);
  Block* head = slots_.find(slot);
  if (head == &block) {
    slots_.set(slot, block.next_in_slot);
    table_[slot] =
        block.next_in_slot != nullptr ? block.next_in_slot->indirect_entry : context_switch_.indirect_miss;
    return;
  }
  for (Block* before = head; before != nullptr; before = before->next_in_slot)
    if (before->next_in_slot == &block) set_next(*before, block.next_in_slot);
}

void CodeCache::unlink(Block& block) {
  for (uint32_t number = block.incoming; number != 0;) {
    Exit& exit = exits_[number];
    exit.linked = false;
    Patch{at(exit.branch)}.to(at(exit.tail));
    if (exit.side_branch != 0) Patch{at(exit.side_branch)}.to(at(exit.side_code));
    number = exit.next_incoming;
  }
  block.incoming = 0;
  if (block.indirect_entry != nullptr) withdraw_indirect(block);
  if (blocks_by_pc_.find(block.pc) == &block) blocks_by_pc_.set(block.pc, nullptr);
}

void CodeCache::kill(Block& block) {
  if (block.dead) return;
  unlink(block);
  if (steps_by_pc_.find(block.pc) == &block) steps_by_pc_.set(block.pc, nullptr);
  if (units_by_pc_.find(block.pc) == &block) units_by_pc_.set(block.pc, nullptr);
  block.dead = true;
  dead_bytes_ += static_cast<size_t>(block.end - block.begin);
}

void CodeCache::kill_page(uint64_t page_number) {
  for (PageUser* user = blocks_by_page_.find(page_number); user != nullptr; user = user->next)
    kill(*user->block);
  blocks_by_page_.set(page_number, nullptr);
}

void CodeCache::invalidate(uint64_t begin, uint64_t end) {
  uint64_t first = begin >> 12;
  uint64_t last = (end - 1) >> 12;
  if (last - first <= 64) {
    for (uint64_t page = first; page <= last; ++page)
      kill_page(page);
    return;
  }
  // A large range: look at the pages that have code instead.
  std::vector<uint64_t> pages;
  blocks_by_page_.for_each([&](uint64_t page, PageUser*) {
    if (page >= first && page <= last) pages.push_back(page);
  });
  for (uint64_t page : pages)
    kill_page(page);
}

void CodeCache::invalidate_instruction(uint64_t pc) {
  constexpr uint64_t kLongestInstruction = 15;
  for (PageUser* user = blocks_by_page_.find(pc >> 12); user != nullptr; user = user->next) {
    Block& block = *user->block;
    const bool is_straight = block.flavour != Flavour::superblock;
    // Its end counts too, where it may have stopped before.
    if (!is_straight || (pc >= block.pc && pc - block.pc <= block.instructions * kLongestInstruction))
      kill(block);
  }
}

void CodeCache::flush_all() {
  log_line(Topic::engine, "the code cache is emptied, {} bytes were used", used());
  reset();
  ++generation_;
}

} // namespace rdb::engine
