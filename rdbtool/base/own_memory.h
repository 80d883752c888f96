// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of this process's own memory, where memory that is not there, or may not be used, is an answer and
// not a signal: the kernel copies.
#pragma once

#include <cstddef>

namespace rdb {

// The number of bytes that could be copied, from the first one on. If it is less than `size`, whole pages may
// be missing that could have been copied.
size_t read_own_memory(const void* from, void* to, size_t size);
size_t write_own_memory(void* to, const void* from, size_t size);

// From here on without calls that could change other processes too. For processes with one thread.
void copy_through_file();

} // namespace rdb
