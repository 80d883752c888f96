// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gdb has signal numbers of its own, the same on all systems.
#pragma once

namespace rdb::gdb {

int gdb_signal(int linux_signal);
int linux_signal(int gdb_signal); // 0 if Linux has no such signal

} // namespace rdb::gdb
