// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of debug code that may go to the program's functions: by name, through pointers, through vtables.
#pragma once

namespace llvm {
class Module;
}

namespace rdb::extractor {

// Makes every call through a pointer look where it goes, and hand calls into the program to rdb: the
// program's code cannot be executed in place. Calls of other code go there, too, if they are given a pointer
// to the program's memory through which it may write.
void redirect_guest_calls(llvm::Module& module);

} // namespace rdb::extractor
