// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/turn_log.h"

#include "rdbtool/record/log_check.h"

namespace rdb::record {

void TurnLog::end(const guest::Machine& machine) {
  shared_.let_go_between_instructions(machine);
  check(log_.append(trace::Chunk{machine.current().id, machine.now() - begin_}));
  begin_ = machine.now();
}

} // namespace rdb::record
