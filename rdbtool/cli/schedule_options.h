// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of `rdb run` and `rdb record` about the layout and the turns of threads, which share a seed.
#pragma once

#include "rdbtool/cli/options.h"
#include "rdbtool/guest/process/machine.h"

namespace rdb::cli {

struct ScheduleChoice {
  uint64_t seed = 0;
  uint64_t chunk = guest::TurnOptions::kDefaultChunk;
  bool chaos = false;
  bool no_aslr = false;
};

void take_schedule(CommandOptions& command, ScheduleChoice& choice);
// Into the machine's options; draws a seed if none was given.
void apply_schedule(const CommandOptions& command, const ScheduleChoice& choice,
                    guest::MachineOptions& machine);

} // namespace rdb::cli
