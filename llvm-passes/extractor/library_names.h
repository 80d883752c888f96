// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the C and C++ libraries, by name: what they do with memory, as far as it matters for debug
// code and for the program around it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rdb::extractor {

// Of the C or C++ library: it reads what it is handed.
bool is_library(llvm::StringRef name);

// Of the C library: it reads the bytes that a pointer leads to and follows none of them.
bool reads_bytes(llvm::StringRef name);

// It reads, or hands out and takes back memory that nobody may look at then. The optimiser makes one of
// another, or does without, when it likes.
bool leaves_memory_alone(llvm::StringRef name);

// It writes nothing through the pointers that it is given, or what it writes to the program's memory is kept
// before (runtime-libs/module/).
bool keeps_what_it_writes(llvm::StringRef name);

} // namespace rdb::extractor
