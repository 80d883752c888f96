// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The labels of regions in the optimiser's code.
#pragma once

#include <utility>
#include <vector>

namespace llvm {
class BasicBlock;
class DbgLabelRecord;
class DILabel;
class DILocation;
class Function;
} // namespace llvm

namespace rdb::codegen {

// A label, and the copy of its function.
using LabelCopy = std::pair<const llvm::DILabel*, const llvm::DILocation*>;
LabelCopy copy_of(const llvm::DbgLabelRecord& label);

// In their order.
std::vector<llvm::DbgLabelRecord*> labels_in(const llvm::BasicBlock& block);
std::vector<llvm::DbgLabelRecord*> labels_in(const llvm::Function& function);

// Other paths lead to it, too: it has no place from now on.
void lead_astray(llvm::DbgLabelRecord& label);

} // namespace rdb::codegen
