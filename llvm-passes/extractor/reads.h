// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory of the program does debug code read? Asked once for each variable, by following its address
// through the debug code and what that calls.
#pragma once

#include "llvm-passes/extractor/extraction.h"

#include <map>
#include <set>
#include <vector>

namespace llvm {
class DataLayout;
class Function;
class Use;
class Value;
} // namespace llvm

namespace rdb::extractor {

// The functions that are debug code, and where they use functions, global variables and expressions of those.
// The list of all uses of one has those of the program and of all other regions, too.
class ConstantUses {
public:
  void add(llvm::Function& function);
  bool has(const llvm::Function& function) const { return code_.contains(&function); }
  const std::vector<llvm::Use*>& of(const llvm::Value& constant) const;

private:
  void add(llvm::Use& use);

  std::set<const llvm::Function*> code_;
  std::set<const llvm::Value*> expressions_;
  std::map<const llvm::Value*, std::vector<llvm::Use*>> uses_;
};

Follow follow_reads(llvm::Value& address, const llvm::DataLayout& layout, const ConstantUses& code);

} // namespace rdb::extractor
