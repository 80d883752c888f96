// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a unit whose code matters to regions: it comes to stand in one function with a region, or
// with a call that leads to one and may be left out. In all others nothing needs to be followed.
#pragma once

#include "codegen-patch/inlining.h"

#include "llvm/ADT/StringSet.h"

#include <set>
#include <string>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace rdb::codegen {

class RegionCode {
public:
  // `hosts`: with regions, or with marks of calls, or called there. `inlining`: what is expected of the
  // optimiser; null: anything.
  RegionCode(const llvm::Module& module, const std::set<const llvm::Function*>& hosts,
             const Inlining* inlining);

  bool has(const llvm::Function& function) const;

private:
  // The function of the source that has this name, or that it was made of; empty if there is none.
  llvm::StringRef source_of(llvm::StringRef name) const;

  bool has_all_;
  llvm::StringSet<> known_;     // all functions of the source
  std::set<std::string> names_; // those that matter
};

} // namespace rdb::codegen
