// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DWARF counts the general registers in another order than instructions do.
#pragma once

#include "rdbtool/engine/engine.h"

namespace rdb::engine {

inline constexpr Gpr kDwarfOrder[16] = {RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP,
                                        R8,  R9,  R10, R11, R12, R13, R14, R15};

} // namespace rdb::engine
