// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Behind a loop, a value of the loop is the one of its last turn. Passes that give turns code of their own
// know who uses that behind the loop, but for debug records: those name the first turn's afterwards. Such
// records are found here, and say nothing from then on.
#pragma once

#include <map>
#include <vector>

namespace llvm {
class BasicBlock;
class DbgVariableRecord;
class Function;
class Loop;
class LoopInfo;
class Value;
} // namespace llvm

namespace rdb::codegen {

class LoopExits {
public:
  // Around a pass that unrolls loops.
  void before(llvm::Function& function);
  void after(llvm::Function& function);

private:
  // A value of a loop that is named outside of it.
  struct Inside {
    const llvm::Value* value;
    const llvm::BasicBlock* header;
    unsigned blocks; // of the loop
  };
  static std::vector<Inside> find_inside(const llvm::DbgVariableRecord& record, const llvm::LoopInfo& loops);

  std::map<const llvm::DbgVariableRecord*, std::vector<Inside>> records_;
};

} // namespace rdb::codegen
