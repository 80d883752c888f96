// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The front end initialises all thread-local variables of a unit together, when a thread uses the first of
// them: the program's and those of debug code.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <functional>
#include <vector>

namespace llvm {
class Function;
class GlobalValue;
class Module;
} // namespace llvm

namespace rdb::extractor {

// The variable that a function or guard with this name, without its prefix, belongs to.
llvm::GlobalValue* variable_named(llvm::Module& module, llvm::StringRef mangled);

// Gives debug code's own variables a function of their own that runs these initialisers, once in each thread.
// Yields what belongs to debug code because of that.
std::vector<llvm::GlobalValue*>
separate_thread_initialisers(llvm::Module& module, const std::vector<llvm::Function*>& initialisers,
                             const std::function<bool(llvm::GlobalValue*)>& is_debug_only);

} // namespace rdb::extractor
