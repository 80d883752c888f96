// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls that rdb only passes on, done without leaving guest code: see Engine::set_fast_syscall().
#pragma once

#include "rdbtool/engine/engine.h"

namespace rdb::guest {

class Process;

// For a guest that nobody records.
engine::FastSyscall make_plain_fast_syscall(Process& process);

} // namespace rdb::guest
