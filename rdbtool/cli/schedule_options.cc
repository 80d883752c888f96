// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/schedule_options.h"

#include <random>

namespace rdb::cli {

void take_schedule(CommandOptions& command, ScheduleChoice& choice) {
  command.option("--seed", choice.seed,
                 "Seed of the memory layout and of --chaos (a random one if not given)");
  command.flag("--no-aslr", choice.no_aslr, "Do not randomise the memory layout");
  command.option("--chunk", choice.chunk, "Instructions of a thread's turn while others wait")
      .between(1, INT64_MAX)
      .show_default();
  command.flag("--chaos", choice.chaos,
               "Switch threads at random places, in random order, from the seed: rare races show");
}

void apply_schedule(const CommandOptions& command, const ScheduleChoice& choice,
                    guest::MachineOptions& machine) {
  bool given = command.was_given("--seed");
  uint64_t drawn = std::random_device{}();
  machine.seed = given ? choice.seed : choice.no_aslr ? 0 : drawn;
  machine.randomise = !choice.no_aslr;
  machine.turns.chunk = choice.chunk;
  machine.turns.chaos = choice.chaos;
  machine.turns.seed = given ? choice.seed : drawn;
}

} // namespace rdb::cli
