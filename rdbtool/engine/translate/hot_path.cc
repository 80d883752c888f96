// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second tier: from a block that is used often, the path that the guest really takes becomes one piece of
// code (a superblock), which is charged once and has no branches but those that leave it.
#include "rdbtool/engine/scoped_ticks.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <iterator>

namespace rdb::engine {
namespace {

constexpr size_t kUnrolledSuperblock = 64;
constexpr size_t kShortSuperblock = 16; // shorter ones do not stop at another superblock's head

// Where a slot of the procedure linkage table leads before the dynamic linker has filled it: [endbr64;] push
// n. A path must not rely on it, as the slot will soon lead elsewhere.
bool is_lazy_binding(GuestMemory& memory, uint64_t pc) {
  static constexpr uint8_t kEndbr[] = {0xF3, 0x0F, 0x1E, 0xFA};
  static constexpr uint8_t kPush = 0x68;
  uint8_t code[5] = {};
  memory.read(GuestAddr(pc), code, sizeof code);
  return code[std::equal(std::begin(kEndbr), std::end(kEndbr), code) ? sizeof kEndbr : 0] == kPush;
}

} // namespace

// Goes along the path that the guest takes from a hot block, and translates it as one piece.
Translator::Next Translator::record_superblock(Stop& stop) {
  uint64_t head = state_.registers.rip;
  std::vector<PathStep>& superblock = superblock_;
  superblock.clear();
  std::vector<uint64_t> returns; // addresses after calls that the superblock has gone into
  bool loops = false;
  // What is executed while recording is executed unchecked, but for single instructions.
  const size_t unit = watches_.empty() ? kLongestUnit : 1;
  while (superblock.size() + kLongestUnit <= kLongestSuperblock) {
    uint64_t pc = state_.registers.rip;
    if (interrupted_ || (!superblock.empty() && !stops_.empty() && stops_.count(pc))) break;
    find_path(pc, unit);
    if (path_.steps.empty() || path_.trust == CodeTrust::compared) break;
    size_t begin = superblock.size();
    superblock.insert(superblock.end(), path_.steps.begin(), path_.steps.end());
    if (path_.steps.back().instruction.kind >= Kind::system_call)
      break; // the host's turn: the superblock's end
    hook_calls_.code_left = false;
    Next next = step(stop, unit);
    if (next == Next::stop) return next;    // a fault: the path is not worth keeping
    if (hook_calls_.code_left) return next; // only part of the path was executed
    uint64_t after = state_.registers.rip;
    superblock.back().next = after;
    const Instruction last = superblock.back().instruction;
    if (after == head) {
      loops = true;
      break;
    }
    if (last.kind == Kind::call || last.kind == Kind::call_indirect) returns.push_back(last.end());
    if (last.kind == Kind::ret) {
      if (returns.empty() || returns.back() != after) break;
      returns.pop_back();
    }
    // Computed jumps have many targets; those of the procedure linkage table have one.
    if (last.kind == Kind::jump_indirect && (!last.rip_relative || is_lazy_binding(memory_, after))) break;
    Block* there = cache_.find(after);
    if (there != nullptr && there->flavour == Flavour::superblock && superblock.size() >= kShortSuperblock)
      break;
    bool seen = false;
    for (size_t i = 0; i <= begin; ++i)
      seen |= superblock[i].instruction.pc == after;
    if (seen) break;
  }
  hot_.set(head, nullptr);
  if (superblock.empty()) return Next::go_on;
  if (loops) {
    size_t once = superblock.size();
    while (superblock.size() + once <= kUnrolledSuperblock)
      for (size_t i = 0; i < once; ++i)
        superblock.push_back(superblock[i]);
  }
  cache_.make_room();
  Timed timed(translate_ticks_);
  make(Flavour::superblock, superblock, PathEnd::goes_on, CodeTrust::watched);
  ++statistics_.superblocks;
  return Next::go_on;
}

} // namespace rdb::engine
