// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code writes to the program's memory is undone when it ends, whether it does so itself (through a
// pointer), by an inline function or a template that the module has a copy of, by inline assembly, or by a
// function of the C or C++ library that is given a pointer to something of the program's.
#pragma once

namespace llvm {
class Module;
}

namespace rdb::extractor {

// Makes every store look where it goes, and tell rdb before it changes the program's memory.
void keep_overwritten_memory(llvm::Module& module);

// Makes inline assembly that may write to memory ask rdb to notice what it writes.
void guard_assembly(llvm::Module& module);

// Calls of library functions that may change an object go to the program's own library if the object is the
// program's: there they are undone, and its memory comes from the program's heap. Of other pointers it is
// noted through which nothing is written (kOnlyReads).
void lend_program_functions(llvm::Module& module);

} // namespace rdb::extractor
