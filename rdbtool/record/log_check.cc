// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/log_check.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <sys/syscall.h>

namespace rdb::record {

void check(bool appended) {
  if (!appended) raw_syscall(SYS_exit_group, kExitFailure);
}

} // namespace rdb::record
