// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What has become of a thread after something that it ran into has been dealt with: a system call, a signal.
#pragma once

#include <cstdint>

namespace rdb::guest {

enum class ThreadOutcome : uint8_t { goes_on, thread_ended, process_ended };

} // namespace rdb::guest
