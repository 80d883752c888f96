// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gdb that runs beside this process and is served by it: for the user, or for one question about a
// recording.
#pragma once

#include "rdbtool/gdb/replay/replay_target.h"

#include <string>
#include <vector>

namespace rdb::cli {

// Throws UserError if the name of a recorded file cannot be shown: gdb prints names as they are.
void check_names(gdb::ReplayTarget& target);

// Starts gdb on the recording, with these words behind rdb's own, and serves it until it ends. Its exit
// status.
int run_gdb(gdb::ReplayTarget& target, const std::string& gdb, const std::vector<std::string>& arguments);

// Lets gdb run one of the script's queries (`rdb-NAME WORD...`) on a program of a recording, without a user.
// Its exit status; kExitUsage if the recording is damaged, which is said, too.
int query_gdb(const std::string& trace, const std::string& process, const std::string& name,
              const std::vector<std::string>& words);

void say(const std::string& line);

} // namespace rdb::cli
