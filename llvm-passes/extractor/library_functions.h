// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functions of the C and C++ libraries do with memory that they are given pointers to: the debug code's
// own library must not change the program's.
#pragma once

#include <utility>
#include <vector>

namespace llvm {
class Function;
class TargetLibraryInfo;
} // namespace llvm

namespace rdb::extractor {

// What is to be looked at in an object of debug code's own before the C++ library is given it: whether the
// library would find memory of the program there (runtime-libs/module/looks.c).
enum class Look : unsigned char {
  kShared, // its first word points to what it shares with others
  kStream, // its buffer does
  kIos,
  kBuffer,
};

struct LibraryFunction {
  // These arguments, which are pointers, lead to objects that it may change. If one is the program's, the
  // program's own function does it instead.
  std::vector<unsigned> changed;
  bool own_serves = false; // if the program has no such function
  // A member of std::string that changes it, of characters of this size.
  unsigned changes_string = 0;
  std::vector<std::pair<unsigned, Look>> looks; // by argument
  // It writes to no memory of the program but where its arguments lead to, and what the looks find.
  // Everything else may know such memory from elsewhere.
  bool is_known = false;
  // Whatever else it is given it only reads, or sees itself to what it writes.
  std::vector<bool> only_reads;  // by argument
  bool others_only_read = false; // those beyond, of a function with variable arguments
};

// What is known of a function that the module does not define.
LibraryFunction describe(llvm::Function& function, const llvm::TargetLibraryInfo& library);

} // namespace rdb::extractor
