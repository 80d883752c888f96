// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/kernel_write.h"

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"

namespace rdb::guest {

bool write_word_as_kernel(Machine& machine, ProcessListener& listener, GuestAddr to, uint32_t value) {
  if (machine.space().write(to, &value, sizeof value) != sizeof value) return false;
  listener.on_memory_write(machine, to, &value, sizeof value);
  return true;
}

} // namespace rdb::guest
