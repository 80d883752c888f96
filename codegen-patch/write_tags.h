// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Has memory, at a region's place in optimised code, the contents that the source says? The optimiser moves,
// merges and deletes stores and calls, also across a debug label. So before optimisation each write to memory
// gets a mark, a debug record right in front of it. Marks stay where the source says the write is, go with
// code that cannot be reached, and are copied and inlined with it; where a write is, and whether it still is,
// the write itself tells. After optimisation the two are compared on all paths to each label.
#pragma once

#include "codegen-patch/memory_target.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/ValueHandle.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class DbgLabelRecord;
class DIBuilder;
class DILocalVariable;
class DISubprogram;
class Function;
class Module;
} // namespace llvm

namespace rdb::codegen {

class WriteTags {
public:
  // Gives every instruction of the function, or only calls, its ordinal as the line of its debug location,
  // and if marks are wanted every write to memory its mark.
  enum class Marks { kWrites, kNone, kOnlyPlacesOfCalls };
  void record(llvm::Function& function, llvm::DISubprogram& subprogram, llvm::DIBuilder& builder,
              Marks marks);

  // Before all that: takes down which global variables pointers may lead to, as the source has it.
  void record_globals(const llvm::Module& module);
  bool is_pointed_to(const std::string& global) const { return !without_pointers_.contains(global); }

  // What is not at a label as the source has it.
  struct Moved {
    std::vector<Target> stale; // memory, maybe
    std::string call;          // of this function, which may not return, and is made on the other side of it
  };
  using MovedAt = std::map<const llvm::DbgLabelRecord*, Moved>;
  MovedAt find_moved(llvm::Function& function, const std::vector<llvm::DbgLabelRecord*>& labels) const;

  // Did a function around the label call itself, and does so no more? Then its calls are turns of a loop, and
  // a region stands for other turns than the source says.
  bool lost_recursion(const llvm::Function& function, const llvm::DbgLabelRecord& label) const;

  static bool is_mark(llvm::StringRef name);

  // Around a pass that may remove variables from memory, or writes to them. Marks of writes to what is gone
  // go; the others keep their address. `in_parts`: it removes parts of variables, too.
  void before_removal(const llvm::Function& function);
  void after_removal(llvm::Function& function, bool in_parts);

  // The vectoriser leaves marks behind with the loop for the rest, which may go. Behind it: gives the writes
  // that it made marks of their own.
  void mark_vectorised(llvm::Function& function) const;

  // Does a call of the function, as the source has it, write to nothing but variables of its own?
  bool is_quiet(const llvm::Function& function);

private:
  friend class TagFlow;
  struct Tag {
    Target target;
    bool is_call = false;
    std::string callee;
    bool has_code = false; // the callee is in this module
    bool is_tied = false;  // to the mark
    uint64_t size = 0;
  };
  std::vector<Tag> tags_;
  std::map<std::pair<const llvm::DISubprogram*, unsigned>, unsigned> tag_at_; // by ordinal
  std::map<const llvm::DISubprogram*, std::vector<unsigned>> self_calls_;     // ordinals
  std::set<std::string> without_pointers_;                                    // global variables
  std::map<std::string, bool> quiet_;                                         // by function
  // Of a stack slot: its function, its ordinal there, and which copy of the function.
  using Home = std::tuple<const llvm::DISubprogram*, unsigned, const llvm::DILocation*>;
  static Home home_of(const llvm::DILocation& place);
  struct AddressOfMark {
    Home slot;
    llvm::WeakVH address;
  };
  // Of writes to stack slots, by mark and copy of the function.
  std::map<std::pair<const llvm::DILocalVariable*, const llvm::DILocation*>, AddressOfMark> marks_of_slots_;
};

} // namespace rdb::codegen
