// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In which registers a function gets its arguments and returns its result. The front end has already brought
// both into the shape that the ABI wants: what is left is to hand out the registers in their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::extractor {

// A register, and how many of its bytes from the lowest on are the result's; 0 for all, as of the x87 stack.
struct ResultRegister {
  std::string name;
  uint64_t size = 0;
};

// In the order of the result's bytes.
std::vector<ResultRegister> result_registers(const llvm::Function& function);

// What a function is given, in this order: registers, "stack" if something lies there, "..." if there may be
// more.
struct Arguments {
  std::vector<std::string> words;
  std::vector<std::vector<size_t>> words_of; // by argument of the function: its words, by their positions
};
Arguments arguments_of(const llvm::Function& function);

// Both as the record `function` of section .rdbtwin has them: "none", or "rax:4", "rax:2,xmm0:8", "st0";
// "-", or "rdi,xmm0,stack,...".
std::string result_text(const std::vector<ResultRegister>& registers);
std::string arguments_text(const Arguments& arguments);

// Do registers mean something else here, as in functions for Windows?
bool has_foreign_convention(const llvm::Function& function);

} // namespace rdb::extractor
