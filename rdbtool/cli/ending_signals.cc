// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/ending_signals.h"

#include <unistd.h>

namespace rdb::cli {
namespace {

pid_t gdb_process;
volatile sig_atomic_t gdb_ended_by;
std::string file_to_remove;

} // namespace

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, number);
  return set;
}

void follow_signals(pid_t gdb, Whose whose) {
  gdb_process = gdb;
  auto pass_on = [](int received) { kill(gdb_process, received); };
  auto give_up = [](int received) {
    gdb_ended_by = received;
    kill(gdb_process, SIGKILL);
  };
  bool users = whose == Whose::users;
  // One that has come meanwhile is dropped where it is ignored.
  signal(SIGINT, users ? SIG_IGN : give_up);
  for (int number : {SIGTERM, SIGHUP})
    signal(number, users ? pass_on : give_up);
  sigset_t set = ending_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int signal_that_ended_gdb() {
  return gdb_ended_by;
}

void remove_at_signal(const std::string& path) {
  file_to_remove = path;
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    signal(number, [](int received) {
      unlink(file_to_remove.c_str());
      _exit(128 + received);
    });
}

} // namespace rdb::cli
