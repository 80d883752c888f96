// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code writes to the program's memory is undone when it ends, whether it does so itself (through a
// pointer), by an inline function or a template that the module has a copy of, or by a function of the C++
// library that is given an object of the program.
#pragma once

namespace llvm {
class Module;
}

namespace rdb::extractor {

// Makes every store look where it goes, and tell rdb before it changes the program's memory.
void keep_overwritten_memory(llvm::Module& module);

// Calls of C++ library functions that may change an object go to the program's own library if the object is
// the program's: there they are undone, and its memory comes from the program's heap.
void lend_program_functions(llvm::Module& module);

} // namespace rdb::extractor
