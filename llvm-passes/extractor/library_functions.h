// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functions of the C and C++ libraries do with memory that they are given pointers to: the debug code's
// own library must not change the program's.
#pragma once

#include <vector>

namespace llvm {
class Function;
class TargetLibraryInfo;
} // namespace llvm

namespace rdb::extractor {

struct LibraryFunction {
  // These arguments, which are pointers, lead to objects that it may change. If one is the program's, the
  // program's own function does it instead.
  std::vector<unsigned> changed;
  bool own_serves = false; // if the program has no such function
  // A member of std::string that changes it.
  bool changes_string = false;
  // A member of a class whose objects are pointers to what they share, with a count of them.
  bool counts_sharers = false;
  // Whatever else it is given it only reads, or sees itself to what it writes.
  std::vector<bool> only_reads;  // by argument
  bool others_only_read = false; // those beyond, of a function with variable arguments
};

// What is known of a function that the module does not define.
LibraryFunction describe(llvm::Function& function, const llvm::TargetLibraryInfo& library);

} // namespace rdb::extractor
