// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of a function that only computes something, or writes it to memory that it is given, is left out
// where nobody needs the result, and made once where it would be made several times. The regions in such a
// function are not reached then. So each call of a function that leads to regions gets a mark, a debug record
// in front of it; after optimisation the call, or the code of the function, must be found there. Constructors
// of global objects that only compute what is known are done by the optimiser itself, and destructors that do
// nothing are not given to the C++ library.
#pragma once

#include "codegen-patch/inlining.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <set>
#include <vector>

namespace llvm {
class Function;
class Instruction;
class Module;
} // namespace llvm

namespace rdb::codegen {

class CallMarks {
public:
  // Before optimisation: finds the calls that need a mark. `regions`: those in the code of a function itself.
  // `inlining`: what is expected of the optimiser; null: anything. Returns the functions in which such calls
  // are, and those which they call.
  std::set<const llvm::Function*> find(llvm::Module& module,
                                       const std::map<const llvm::Function*, std::set<size_t>>& regions,
                                       const Inlining* inlining);
  // And gives them their marks, once code has its debug locations.
  void put_marks();

  static bool is_mark(llvm::StringRef name);

  // After it: the regions behind calls that are not made in this function as the source says.
  std::set<size_t> left_out(const llvm::Function& function, const Inlining& inlining) const;
  // And those behind calls ahead of main.
  std::set<size_t> left_out_at_start(const llvm::Module& module) const;

private:
  struct Call {
    std::string callee;
    std::set<size_t> regions;
  };
  std::vector<Call> calls_;                  // by number
  std::vector<llvm::Instruction*> unmarked_; // the same, until they have their marks
  std::vector<Call> constructors_;
};

} // namespace rdb::codegen
