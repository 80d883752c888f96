// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variable that could not leave memory is one that others may change: through a pointer that was handed
// out, by an atomic operation, in parts. InstCombine takes its declaration away nevertheless, for records of
// the writes that name it and of some calls that are given its address; the rest goes unrecorded. While an
// object of this class lives, declarations stay until their variables leave memory for good. Where
// InstCombine removes a variable that nobody reads any more, together with what was written to it, nothing is
// known of it from then on.
#pragma once

#include <set>
#include <utility>

namespace llvm {
class DILocalVariable;
class DILocation;
class Function;
} // namespace llvm

namespace rdb::codegen {

class DeclaredSlots {
public:
  DeclaredSlots();
  ~DeclaredSlots();
  DeclaredSlots(const DeclaredSlots&) = delete;
  DeclaredSlots& operator=(const DeclaredSlots&) = delete;

  // Around InstCombine.
  void before(llvm::Function& function);
  void after(llvm::Function& function);

private:
  // By what a record names: the variable, and the copy of its function.
  using Declared = std::set<std::pair<const llvm::DILocalVariable*, const llvm::DILocation*>>;
  static Declared find(llvm::Function& function);

  bool lowered_; // what the compiler's option was before
  Declared declared_;
};

} // namespace rdb::codegen
