// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where it is known which way a block will be left, a pass leads the way around it. It looks after those who
// use values of the block further on, but not always after debug records: these are reached without their
// value then, and say what it is on the ways that are left; so do copies of records that are made for the way
// around. Such records are found here, and say nothing from then on.
#pragma once

#include "codegen-patch/dropped_records.h"

#include "llvm/IR/ValueHandle.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace llvm {
class DbgVariableRecord;
class DILocalVariable;
class DILocation;
} // namespace llvm

namespace rdb::codegen {

class Bypassed {
public:
  // Around a pass that may lead ways around blocks.
  void before(llvm::Function& function);
  void after(llvm::StringRef pass, llvm::Function& function);

private:
  // What a record names.
  struct Operand {
    llvm::WeakVH value; // null once it is gone
    unsigned block;     // the number of its mark; 0 if it is of no block
    bool is_near;       // in the block of the record
  };
  struct Named {
    const llvm::DILocalVariable* variable;
    const llvm::DILocation* inlined_at;
    std::vector<Operand> operands;
  };
  bool is_bypassed(const Named& before, const llvm::DbgVariableRecord& now) const;
  bool is_copy_for_bypass(const llvm::DbgVariableRecord& record) const;

  std::map<const llvm::DbgVariableRecord*, Named> records_;
  std::map<std::pair<const llvm::DILocalVariable*, const llvm::DILocation*>, std::vector<const Named*>>
      of_variable_;           // those of the records
  std::set<size_t> bypassed_; // marks
  unsigned pass_ = 0;
  DroppedRecords marks_; // one in each block that is named
};

} // namespace rdb::codegen
