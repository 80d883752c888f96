// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory an instruction is about to touch, computed from its operands and the registers.
#pragma once

#include "rdbtool/engine/instructions/decode.h"
#include "rdbtool/engine/instructions/gather.h"

#include <vector>

namespace rdb::engine {

struct MemoryAccess {
  uint64_t address = 0;
  uint32_t size = 0;
  bool read = false;
  bool write = false;
};

// All memory operands, implicit ones (push, call, string instructions) included. A `rep` is one access that
// covers all its iterations; a gather or scatter has one per element. Of the engine only the registers are
// read.
std::vector<MemoryAccess> memory_accesses(const Instruction& instruction, Engine& engine,
                                          Elements elements = Elements::chosen);

// The same without register values: how translated code finds out what an instruction is about to touch.
struct AccessPlan {
  struct Place {
    enum class Kind : uint8_t {
      constant, // at `offset`
      operand,  // at the explicit operand, base + offset and possibly an index
      stack,    // at base + offset
      tls,      // at the FS base + offset, and base if there is one
    } kind = Kind::stack;
    bool has_base = false;
    Gpr base = RAX;
    bool indexed = false;
    Gpr index = RAX;
    uint8_t scale = 0;
    int64_t offset = 0;
    uint32_t size = 0;
    bool read = false;
    bool write = false;
  };
  bool reads = false; // any memory
  bool writes = false;
  bool odd = false; // not to be told by such simple means: the host has to look each time
  int places = 0;
  Place place[3];
  // General registers that get a new value, a bit each; the FS base has the next one.
  static constexpr uint32_t kFsBase = 1u << 16;
  uint32_t written = 0;
  bool rsp_moves = false; // of these, rsp changes by a known amount
  int64_t rsp_change = 0;
  // Another one does; -1: none.
  int moved = -1;
  int64_t change = 0;
  bool can_trap = false; // see write_can_trap()
};
AccessPlan access_plan(const Instruction& instruction);

// Whether the CPU's own breakpoints can tell of what the instruction writes: it always writes, once, behind
// which it is done, and where can still be seen from the registers then.
bool write_can_trap(const Instruction& instruction);
// Of such an instruction: what it has accessed, from the registers behind it.
std::vector<MemoryAccess> accesses_done(const Instruction& instruction, Registers after);

// The address of the explicit memory operand.
uint64_t operand_address(const Instruction& instruction, const Registers& regs);

} // namespace rdb::engine
