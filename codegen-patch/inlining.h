// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the optimiser does with the functions of a unit: which of them it puts into which others, and calls of
// which it may leave out. Two compiles of the same code do the same: so what was seen in that of the program
// tells the one that follows regions, ahead of it, where nothing can happen to them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <map>
#include <set>
#include <string>

namespace llvm {
class Function;
class Module;
class PassBuilder;
} // namespace llvm

namespace rdb::codegen {

class Inlining {
public:
  // Watches the compile that follows in this process, and does not change anything in it.
  void attach(llvm::PassBuilder& builder);

  // The one under which a function is known here.
  static llvm::StringRef name_of(const llvm::Function& function);
  // By function: those into which it was put, at least in one place.
  const std::map<std::string, std::set<std::string>>& callers() const { return callers_; }
  // Can calls of the function with this name be missing in the end, and its code, too?
  bool may_lack_calls_of(llvm::StringRef function) const;

  friend bool operator==(const Inlining&, const Inlining&) = default;

private:
  class Remarks;
  void note(const llvm::Function& function);
  void note(const llvm::Module& module);

  std::map<std::string, std::set<std::string>> callers_;
  std::set<std::string> left_out_; // maybe; known of a function at any time
  std::set<std::string> kept_;     // to the end
};

} // namespace rdb::codegen
