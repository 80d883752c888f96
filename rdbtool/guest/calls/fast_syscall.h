// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls that rdb only passes on, done without leaving guest code: see Engine::set_fast_syscall().
#pragma once

#include "rdbtool/engine/engine.h"

namespace rdb::guest {

class Machine;
class SeccompFilters;

// A guest that nobody records, for the function that makes its calls.
struct UnrecordedCalls {
  Machine* machine = nullptr;
  const SeccompFilters* filters = nullptr;
};

engine::FastSyscall make_fast_syscall(UnrecordedCalls& calls);

} // namespace rdb::guest
