// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/exec_handover.h"

#include "rdbtool/base/error.h"

#include <sstream>
#include <string>

namespace rdb::record {

void ExecHandover::put(guest::Handover& handover) const {
  handover.outside_descriptors = {ends.ring_fd, ends.control_fd};
  handover.outside_state = std::to_string(exec_time.value) + " " + std::to_string(checksum_interval);
}

std::optional<ExecHandover> ExecHandover::get(const guest::Handover& handover) {
  if (handover.outside_descriptors.empty()) return std::nullopt;
  std::istringstream state(handover.outside_state);
  uint64_t time = 0, interval = 0;
  state >> time >> interval;
  RDB_CHECK(handover.outside_descriptors.size() == 2 && !state.fail());
  return ExecHandover{
      {handover.outside_descriptors[0], handover.outside_descriptors[1]}, Time(time), interval};
}

} // namespace rdb::record
