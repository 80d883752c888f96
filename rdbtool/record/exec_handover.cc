// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/exec_handover.h"

#include "rdbtool/base/error.h"

#include <sstream>
#include <string>

namespace rdb::record {

void ExecHandover::put(guest::Handover& handover) const {
  handover.listener_descriptors = {ends.ring_fd, ends.control_fd};
  handover.listener_state = std::to_string(exec_time.value) + " " + std::to_string(checksum_interval);
}

std::optional<ExecHandover> ExecHandover::get(const guest::Handover& handover) {
  if (handover.listener_descriptors.empty()) return std::nullopt;
  std::istringstream state(handover.listener_state);
  uint64_t time = 0, interval = 0;
  state >> time >> interval;
  RDB_CHECK(handover.listener_descriptors.size() == 2 && !state.fail());
  return ExecHandover{
      {handover.listener_descriptors[0], handover.listener_descriptors[1]}, Time(time), interval};
}

} // namespace rdb::record
