// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For those who work on placement: which pass lost a label, or the value of an argument. The environment asks
// for it.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::codegen {

class LabelTrace {
public:
  void after(llvm::StringRef pass, const llvm::Function& function);

private:
  std::map<const llvm::Function*, std::map<std::string, unsigned>> labels_; // how many copies
};

} // namespace rdb::codegen
