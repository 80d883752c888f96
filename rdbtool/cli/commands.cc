// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of commands: the one place that knows them all.
#include "rdbtool/cli/command.h"

namespace rdb::cli {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"record", "Run a program and record it", setup_record},
      {"replay", "Play a recording again, exactly", setup_replay},
      {"print", "Print values at a line of a recorded run", setup_print},
      {"gdb", "Debug a recording with gdb, forwards and backwards", setup_gdb},
      {"history", "Show the values that an expression had each time a line was reached", setup_history},
      {"last-write", "Find the instruction that wrote to a place in memory last", setup_last_write},
      {"run", "Run a program under the engine, without recording it", setup_run},
      {"ls", "List the recordings", setup_ls},
      {"ps", "List the processes of a recording", setup_ps},
      {"rm", "Delete recordings", setup_rm},
      {"info", "Tell what a recording is of, and how it ended", setup_info},
      {"dump", "Print what is in a recording", setup_dump},
      {"pack", "Make one file of a recording, to send it", setup_pack},
      {"unpack", "Make a recording of such a file", setup_unpack},
      {"inspect", "Show the debug regions of a program: where they run and what they see", setup_inspect},
      {"verify", "Compare a program with the original it should equal", setup_verify},
      {"doctor", "Check this machine, and say what will work on it", setup_doctor},
      {"completion", "Print shell completion, or write the manual pages", setup_completion},
  };
  return kCommands;
}

} // namespace rdb::cli
