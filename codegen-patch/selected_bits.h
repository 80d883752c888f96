// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instruction selection computes of a value only those bits that somebody needs, and debug records do not
// count: `m = n & 0xff` becomes n where the only instruction that uses m looks at its lowest byte, and the
// records of m name n from then on. Some of that depends on the target's instructions, so no pass ahead of
// it has done the same. Selection goes by blocks: what another block uses is computed in full.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::codegen {

// Right before instruction selection: a record of a value that need not be computed as it is says nothing
// from then on.
void drop_partly_selected(llvm::Function& function);

} // namespace rdb::codegen
