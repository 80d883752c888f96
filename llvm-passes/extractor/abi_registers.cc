// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/abi_registers.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace rdb::extractor {

using namespace llvm;

namespace {

constexpr std::array kArgumentWords = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
constexpr std::array kResultWords = {"rax", "rdx", "rcx"};
constexpr unsigned kVectorArguments = 8;
constexpr uint64_t kWordSize = 8;

// A value of one of these classes is in one register, or in several words.
enum class Kind { kWords, kVector, kFloatStack };

Kind kind_of(const Type& type) {
  if (type.isX86_FP80Ty()) return Kind::kFloatStack;
  if (type.isFloatingPointTy() || type.isVectorTy()) return Kind::kVector;
  return Kind::kWords;
}

// The scalars and vectors that a type consists of.
void add_leaves(Type& type, std::vector<Type*>& leaves) {
  if (type.isVoidTy()) return;
  if (auto* structure = dyn_cast<StructType>(&type)) {
    for (Type* element : structure->elements())
      add_leaves(*element, leaves);
  } else if (auto* array = dyn_cast<ArrayType>(&type)) {
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      add_leaves(*array->getElementType(), leaves);
  } else {
    leaves.push_back(&type);
  }
}

std::vector<Type*> leaves_of(Type& type) {
  std::vector<Type*> leaves;
  add_leaves(type, leaves);
  return leaves;
}

uint64_t size_of(const Type& type, const DataLayout& layout) {
  return layout.getTypeStoreSize(const_cast<Type*>(&type)).getFixedValue();
}

} // namespace

std::vector<ResultRegister> result_registers(const Function& function) {
  // Whoever gets the address of the result returns it.
  if (function.hasStructRetAttr()) return {{"rax", kWordSize}};
  const DataLayout& layout = function.getDataLayout();
  std::vector<ResultRegister> result;
  size_t words = 0;
  size_t vectors = 0;
  size_t floats = 0;
  for (const Type* leaf : leaves_of(*function.getReturnType())) {
    uint64_t size = size_of(*leaf, layout);
    switch (kind_of(*leaf)) {
    case Kind::kFloatStack:
      result.push_back({fmt::format("st{}", floats++), 0});
      break;
    case Kind::kVector:
      result.push_back({fmt::format("xmm{}", vectors++), size});
      break;
    case Kind::kWords:
      for (; size > 0 && words < kResultWords.size(); size -= std::min(size, kWordSize))
        result.push_back({kResultWords[words++], std::min(size, kWordSize)});
      break;
    }
  }
  return result;
}

std::string result_text(const std::vector<ResultRegister>& registers) {
  std::vector<std::string> words;
  words.reserve(registers.size());
  for (const ResultRegister& one : registers)
    words.push_back(one.size == 0 ? one.name : fmt::format("{}:{}", one.name, one.size));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

Arguments arguments_of(const Function& function) {
  const DataLayout& layout = function.getDataLayout();
  Arguments result;
  size_t words = 0;
  size_t vectors = 0;
  std::vector<size_t> on_stack;
  for (const Argument& argument : function.args()) {
    std::vector<size_t>& own = result.words_of.emplace_back();
    auto add = [&](std::string word) {
      own.push_back(result.words.size());
      result.words.push_back(std::move(word));
    };
    if (argument.hasNestAttr()) {
      add("r10");
      continue;
    }
    bool has_stack = argument.hasByValAttr();
    for (const Type* leaf : leaves_of(*argument.getType())) {
      if (has_stack) break;
      Kind kind = kind_of(*leaf);
      // What needs two registers gets both or none.
      size_t needed = (size_of(*leaf, layout) + kWordSize - 1) / kWordSize;
      if (kind == Kind::kVector && vectors < kVectorArguments)
        add(fmt::format("xmm{}", vectors++));
      else if (kind == Kind::kWords && words + needed <= kArgumentWords.size())
        for (; needed > 0; --needed)
          add(kArgumentWords[words++]);
      else
        has_stack = true;
    }
    if (has_stack) on_stack.push_back(argument.getArgNo());
  }
  for (size_t number : on_stack)
    result.words_of[number].push_back(result.words.size());
  if (!on_stack.empty()) result.words.emplace_back("stack");
  if (function.isVarArg()) result.words.emplace_back("...");
  return result;
}

std::string arguments_text(const Arguments& arguments) {
  return arguments.words.empty() ? "-" : fmt::format("{}", fmt::join(arguments.words, ","));
}

bool has_foreign_convention(const Function& function) {
  CallingConv::ID convention = function.getCallingConv();
  return convention != CallingConv::C && convention != CallingConv::X86_64_SysV;
}

} // namespace rdb::extractor
