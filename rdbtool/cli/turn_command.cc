// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/turn_command.h"

#include <random>

namespace rdb::cli {

void take_schedule(CLI::App& app, ScheduleChoice& choice) {
  app.add_option("--seed", choice.seed,
                 "Seed of the memory layout and of --chaos (a random one if not given)");
  app.add_flag("--no-aslr", choice.no_aslr, "Do not randomise the memory layout");
  app.add_option("--chunk", choice.chunk, "Instructions of a thread's turn while others wait")
      ->check(CLI::Range(uint64_t{1}, uint64_t{INT64_MAX}).description("NUMBER"))
      ->capture_default_str();
  app.add_flag("--chaos", choice.chaos,
               "Switch threads at random places, in random order, from the seed: rare races show");
}

void apply_schedule(const CLI::App& app, const ScheduleChoice& choice, guest::MachineOptions& machine) {
  bool given = app.count("--seed") != 0;
  uint64_t drawn = std::random_device{}();
  machine.seed = given ? choice.seed : choice.no_aslr ? 0 : drawn;
  machine.randomise = !choice.no_aslr;
  machine.turns.chunk = choice.chunk;
  machine.turns.chaos = choice.chaos;
  machine.turns.seed = given ? choice.seed : drawn;
}

} // namespace rdb::cli
