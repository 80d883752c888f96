// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function with regions, and what all of them need to know of it. It is found once: a function may have
// thousands of regions.
#pragma once

#include "llvm-passes/extractor/extraction.h"
#include "llvm-passes/extractor/markers.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class AllocaInst;
class BasicBlock;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace rdb::extractor {

// A variable of the host function by the value that is its address.
struct HostVariable {
  Variable::Kind kind;
  std::string key;
  unsigned ordinal;
  std::string name;
  std::string type;
};

using HostVariables = std::map<llvm::Value*, HostVariable>;

// A region in its host.
struct RegionInHost {
  Marker enter;
  bool is_guarded = false; // it has a catch-all of its own
  // From the enter marker to the leave marker, on all ways.
  std::set<llvm::Instruction*> instructions;
};

class Host {
public:
  explicit Host(llvm::Function& function);

  llvm::Function& function() const { return function_; }
  const std::vector<RegionInHost>& regions() const { return regions_; }
  const HostVariables& variables() const { return variables_; }
  // Is it debug code that declares this variable?
  bool is_declared_by_regions(llvm::Value* slot) const { return declared_.contains(slot); }
  // Does it hold a debug variable that more than one region uses?
  bool is_shared(llvm::Value* slot) const { return shared_.contains(slot); }
  // Blocks in the order of the function.
  std::vector<llvm::BasicBlock*> in_order(const std::set<llvm::BasicBlock*>& blocks) const;
  // Is it the marker at which this region ends?
  bool is_leave(const llvm::Instruction& instruction, unsigned region) const;

private:
  void find_regions();
  void find_variables();
  void find_shared();

  llvm::Function& function_;
  std::vector<Marker> markers_;
  std::map<const llvm::Instruction*, unsigned> leaves_; // regions by their leave markers
  std::map<const llvm::BasicBlock*, size_t> numbers_;   // of blocks, in their order
  std::vector<RegionInHost> regions_;
  std::set<llvm::Instruction*> inside_; // of any region
  HostVariables variables_;
  std::set<llvm::Value*> declared_;
  std::set<llvm::Value*> shared_;
};

} // namespace rdb::extractor
