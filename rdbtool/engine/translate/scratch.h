// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions whose rip-relative operand is out of reach of the code cache (code far away, such as that of a
// JIT compiler): the operand is addressed through a register that the instruction does not use.
#pragma once

#include "rdbtool/engine/translate/emit.h"

namespace rdb::engine {

// One of rax, rcx, rdx, rbx, rsi, rdi that the instruction neither reads nor writes.
Gpr free_register(const Instruction& instruction);

// The instruction with [base] in place of its rip-relative operand.
void emit_through_register(Emitter& emit, const Instruction& instruction, Gpr base);

} // namespace rdb::engine
