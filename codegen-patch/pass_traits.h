// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes of the optimiser do to labels, marks and records of values, by the names of the passes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rdb::codegen {

struct PassTraits {
  bool drops_blocks = false;      // with labels and marks in them; other passes only if they are never run
  bool bypasses_blocks = false;   // and leaves records behind that named values of them
  bool joins_blocks = false;      // or their conditions
  bool joins_arms = false;        // of a switch
  bool copies_code = false;       // without the records in it
  bool unrolls = false;           // loops
  bool simplifies = false;        // values, to others that are as good to those who use them
  bool removes_variables = false; // from memory, or writes to them
  bool cleans_up = false;         // and removes records of those itself
  bool runs_others = false;       // or nothing at all
};

PassTraits traits_of(llvm::StringRef pass);

} // namespace rdb::codegen
