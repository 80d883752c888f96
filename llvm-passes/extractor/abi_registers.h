// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In which registers a function gets its arguments and returns its result. The front end has already brought
// both into the shape that the ABI wants: what is left is to hand out the registers in their order.
#pragma once

#include <string>

namespace llvm {
class Function;
class FunctionType;
} // namespace llvm

namespace rdb::extractor {

// As the record `function` of section .rdbtwin has them.
struct AbiRegisters {
  std::string result;    // "none", or "rax:4", "xmm0:8,rax:2", "st0"
  std::string arguments; // "-", or "rdi,xmm0,stack,..."
};

AbiRegisters abi_registers(const llvm::Function& function);

// Do registers mean something else here, as in functions for Windows?
bool has_foreign_convention(const llvm::Function& function);

} // namespace rdb::extractor
