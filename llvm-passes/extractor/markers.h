// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The markers and variable annotations that the views and the front end leave in the intermediate code.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace llvm {
class AllocaInst;
class CallInst;
class Function;
class Instruction;
class Module;
class Value;
} // namespace llvm

namespace rdb::extractor {

// A marker: __builtin_annotation(region, "rdb.<what>").
struct Marker {
  llvm::CallInst* call;
  llvm::StringRef what; // enter, leave, escape, mark
  unsigned region;
};

// A program variable: llvm.var.annotation of its address.
struct AnnotatedVariable {
  llvm::CallInst* call;
  llvm::Value* address;
  llvm::StringRef note;
};

std::vector<Marker> find_markers(llvm::Function& function);
std::vector<AnnotatedVariable> find_variables(llvm::Function& function);

// Variables that debug code declares.
std::vector<AnnotatedVariable> find_debug_variables(llvm::Function& function);

// Variables that have no annotation because their declaration is never reached (in front of a switch's first
// case, behind a goto): known by their name. The compiler's own have no name or one with a dot.
std::vector<llvm::AllocaInst*> find_unreached_variables(llvm::Function& function);

// Removes the calls and the strings that only they use.
void erase_annotations(llvm::Module& module);

} // namespace rdb::extractor
