// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a recorded process passes on when it becomes another program: where the new program's log goes, when
// the old one's ended, how often states are hashed. It travels in guest::Handover, which does not know what
// it means.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <cstdint>
#include <optional>

namespace rdb::record {

struct ExecHandover {
  trace::ProducerEnds ends;
  Time exec_time;
  uint64_t checksum_interval = 0;

  void put(guest::Handover& handover) const;
  // Nothing if the process was not recorded.
  static std::optional<ExecHandover> get(const guest::Handover& handover);
};

} // namespace rdb::record
