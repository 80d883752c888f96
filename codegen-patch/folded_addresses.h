// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An address that is a constant away from another one is computed by the instructions that access memory
// there, in passing: it is in no register. What it is computed from is.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::codegen {

// Right before instruction selection: a record of such an address names what it is computed from.
void name_bases(llvm::Function& function);

} // namespace rdb::codegen
