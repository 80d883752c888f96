// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What signals that ask rdb to end (SIGINT, SIGTERM, SIGHUP) do while it serves gdb. The handlers must act at
// once, wherever this process is, and the kernel tells them nothing but the signal's number. So what they act
// on are variables of the whole process. They are all in ending_signals.cc, and only its handlers use them.
#pragma once

#include "rdbtool/cli/gdb_environment.h"

#include <csignal>
#include <string>
#include <sys/types.h>

namespace rdb::cli {

sigset_t ending_signals();

// gdb's end ends all that is done for it. The user's own gdb deals with Ctrl-C itself, and is asked to leave
// by what asks this process to; ours answers one question that nobody waits for any more, and is killed. To
// be called with these signals blocked; unblocks them.
void follow_signals(pid_t gdb, Whose whose);
// The signal that has killed a gdb of ours; 0 if none has.
int signal_that_ended_gdb();

// They remove this file and end this process.
void remove_at_signal(const std::string& path);

} // namespace rdb::cli
