// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The oracle is a walk for each question: is the block come to if the ways do not lead through the other one?
#include "codegen-patch/dominators.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

#include <random>

namespace rdb::codegen {
namespace {

using Block = Ways::Block;

// Each block leads to one or two others, or out of the function.
llvm::Function& random_function(llvm::Module& module, unsigned seed) {
  std::mt19937 random(seed);
  llvm::LLVMContext& context = module.getContext();
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::Type::getInt1Ty(context)}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  std::vector<llvm::BasicBlock*> blocks;
  for (unsigned i = 0; i < 2 + seed % 12; ++i)
    blocks.push_back(llvm::BasicBlock::Create(context, "", function));
  auto any = [&] { return blocks[1 + random() % (blocks.size() - 1)]; };
  for (llvm::BasicBlock* block : blocks) {
    llvm::IRBuilder<> builder(block);
    if (random() % 6 == 0)
      builder.CreateRetVoid();
    else if (random() % 2 == 0)
      builder.CreateBr(any());
    else
      builder.CreateCondBr(function->getArg(0), any(), any());
  }
  return *function;
}

TEST(DominatorsTest, AgreesWithWalks) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    Ways ways(random_function(module, seed));
    auto goes_on = [&](Block block) { return seed % 3 != 0 || block % 4 != 0; };
    for (Block from = Ways::kOutside; from < ways.end(); ++from) {
      Dominators tree(ways, from, goes_on);
      Walk all;
      all.run(ways, from, goes_on);
      for (Block past = Ways::kOutside; past < ways.end(); ++past) {
        Walk walk;
        walk.run(ways, from, [&](Block block) { return block != past && goes_on(block); });
        for (Block to = Ways::kOutside; to < ways.end(); ++to) {
          EXPECT_EQ(tree.came_to(to), all.came_to(to));
          auto place = tree.find({to});
          EXPECT_EQ(place.has_value(), all.came_to(to));
          if (!place || to == past) continue;
          EXPECT_EQ(tree.is_needed(past, *place), !walk.came_to(to))
              << "seed " << seed << ": from " << from << " past " << past << " to " << to;
        }
      }
    }
  }
}

TEST(CirclesTest, AgreeWithWalks) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    Ways ways(random_function(module, seed));
    auto is_asked = [&](Block block) { return block != Ways::kOutside && (seed % 2 == 0 || block % 5 != 0); };
    std::vector<bool> found = blocks_on_circles(ways, is_asked);
    for (Block block = Ways::kOutside + 1; block < ways.end(); ++block) {
      if (!is_asked(block)) continue;
      Walk walk;
      walk.run(ways, block, is_asked);
      EXPECT_EQ(found[block], walk.came_to(block)) << "seed " << seed << ": " << block;
    }
  }
}

} // namespace
} // namespace rdb::codegen
