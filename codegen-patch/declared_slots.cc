// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/declared_slots.h"

#include "rdbtool/base/error.h"

#include "llvm/Support/CommandLine.h"

namespace rdb::codegen {

namespace {

llvm::cl::opt<bool>& lowering() {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find("instcombine-lower-dbg-declare");
  if (found == options.end()) throw Bug("LLVM has no option instcombine-lower-dbg-declare");
  return *static_cast<llvm::cl::opt<bool>*>(found->second);
}

} // namespace

DeclaredSlots::DeclaredSlots() : lowered_(lowering()) {
  lowering().setValue(false);
}

DeclaredSlots::~DeclaredSlots() {
  lowering().setValue(lowered_);
}

} // namespace rdb::codegen
