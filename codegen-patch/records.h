// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the steps of placement share about debug records.
#pragma once

#include "descriptors/descriptor.h"
#include "llvm-passes/extractor/extraction.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace llvm {
class DbgRecord;
class DbgVariableRecord;
class Function;
} // namespace llvm

namespace rdb::codegen {

// The name of the debug variable that stands for a program variable in its host function.
std::string variable_record_name(const extractor::Variable& variable);

// Of the label, or of the variable that it tells of.
llvm::StringRef name_of(const llvm::DbgRecord& record);

// The records that say what the value of a variable is from there on, in their order.
std::vector<llvm::DbgVariableRecord*> value_records_of(const llvm::Function& function);

// Of the variable, or the part of it, that a record tells of.
unsigned bits_of(const llvm::DbgVariableRecord& record);

inline descriptors::Part unavailable(uint64_t size, std::string reason) {
  descriptors::Part part;
  part.size = size;
  part.reason = std::move(reason);
  return part;
}

} // namespace rdb::codegen
