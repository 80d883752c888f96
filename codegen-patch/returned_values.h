// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inliner puts what a function returns in the place of its call for those who use that; debug records do
// not count. A value that only debug code looks at would be gone with the call. So around the inliner such
// records are taken down, with what the function returns, and name that afterwards.
#pragma once

#include "llvm/IR/ValueHandle.h"

#include <map>
#include <vector>

namespace llvm {
class CallBase;
class DbgVariableRecord;
class DIExpression;
class DILocation;
class DILocalVariable;
class Function;
} // namespace llvm

namespace rdb::codegen {

class ReturnedValues {
public:
  // Around a run of the inliner over some functions.
  void before(const std::vector<llvm::Function*>& callers);
  void after();

private:
  // What stands in the place of a call that only a record names.
  struct Returned {
    const llvm::DILocalVariable* variable;
    const llvm::DILocation* place;
    const llvm::DIExpression* expression;
    llvm::WeakVH call;          // null once it is gone
    llvm::WeakTrackingVH value; // if the function returns what it was given
    unsigned opcode = 0;        // else an instruction of it, by its place
    const llvm::DILocation* inside = nullptr;
    const llvm::DILocation* call_place = nullptr;
  };
  static bool find_returned(const llvm::CallBase& call, Returned& returned);
  static llvm::Value* find_inlined(llvm::Function& caller, const Returned& returned);

  std::vector<llvm::WeakVH> callers_;
  std::map<const llvm::DbgVariableRecord*, Returned> records_;
};

} // namespace rdb::codegen
