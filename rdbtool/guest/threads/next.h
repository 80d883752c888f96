// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What comes next for a thread when something of its own has been dealt with: a system call, a signal.
#pragma once

#include <cstdint>

namespace rdb::guest {

// `thread_over`: the thread is gone. `ended`: the whole process is.
enum class Next : uint8_t { go_on, thread_over, ended };

} // namespace rdb::guest
