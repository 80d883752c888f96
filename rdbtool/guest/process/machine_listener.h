// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a machine says about the settings that a kernel would keep for the guest. A live run listens, to make
// the kernel's settings follow; a replay, which has no signals of its own, does not.
#pragma once

#include "rdbtool/base/types.h"

#include <cstdint>

namespace rdb::guest {

class MachineListener {
public:
  virtual ~MachineListener() = default;
  // The current thread blocks these signals from here on.
  virtual void on_mask(uint64_t mask) = 0;
  // The guest has another action for this signal.
  virtual void on_action(int signal) = 0;
  // The current thread has this list of robust locks.
  virtual void on_robust_list(GuestAddr head) = 0;
};

} // namespace rdb::guest
