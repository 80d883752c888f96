// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variable that could not leave memory is one that others may change: through a pointer that was handed
// out, by an atomic operation, in parts. InstCombine takes its declaration away nevertheless, for records of
// the writes that name it and of some calls that are given its address; the rest goes unrecorded. While an
// object of this class lives, declarations stay until their variables leave memory for good.
#pragma once

namespace rdb::codegen {

class DeclaredSlots {
public:
  DeclaredSlots();
  ~DeclaredSlots();
  DeclaredSlots(const DeclaredSlots&) = delete;
  DeclaredSlots& operator=(const DeclaredSlots&) = delete;

private:
  bool lowered_; // what the compiler's option was before
};

} // namespace rdb::codegen
