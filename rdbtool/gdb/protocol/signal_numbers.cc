// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table is that of gdb's include/gdb/signals.def, for the signals that Linux has.
#include "rdbtool/gdb/protocol/signal_numbers.h"

#include <csignal>

namespace rdb::gdb {

namespace {

constexpr int kUnknown = 143;

constexpr struct {
  int linux_number, gdb_number;
} kSignals[] = {
    {SIGHUP, 1},     {SIGINT, 2},   {SIGQUIT, 3},   {SIGILL, 4},   {SIGTRAP, 5},  {SIGABRT, 6},
    {SIGFPE, 8},     {SIGKILL, 9},  {SIGBUS, 10},   {SIGSEGV, 11}, {SIGSYS, 12},  {SIGPIPE, 13},
    {SIGALRM, 14},   {SIGTERM, 15}, {SIGURG, 16},   {SIGSTOP, 17}, {SIGTSTP, 18}, {SIGCONT, 19},
    {SIGCHLD, 20},   {SIGTTIN, 21}, {SIGTTOU, 22},  {SIGIO, 23},   {SIGXCPU, 24}, {SIGXFSZ, 25},
    {SIGVTALRM, 26}, {SIGPROF, 27}, {SIGWINCH, 28}, {SIGUSR1, 30}, {SIGUSR2, 31}, {SIGPWR, 32},
};

// Real-time signals: 33 ... 63 in a row, 32 and 64 apart from it.
constexpr int kFirstRealTime = 45, kRealTime32 = 77, kRealTime64 = 78;

} // namespace

int gdb_signal(int linux_signal) {
  for (auto [linux_number, gdb_number] : kSignals)
    if (linux_number == linux_signal) return gdb_number;
  if (linux_signal == 32) return kRealTime32;
  if (linux_signal == 64) return kRealTime64;
  if (linux_signal >= 33 && linux_signal <= 63) return kFirstRealTime + linux_signal - 33;
  return linux_signal == 0 ? 0 : kUnknown;
}

int linux_signal(int gdb_signal) {
  for (auto [linux_number, gdb_number] : kSignals)
    if (gdb_number == gdb_signal) return linux_number;
  if (gdb_signal == kRealTime32) return 32;
  if (gdb_signal == kRealTime64) return 64;
  if (gdb_signal >= kFirstRealTime && gdb_signal < kFirstRealTime + 31)
    return gdb_signal - kFirstRealTime + 33;
  return 0;
}

} // namespace rdb::gdb
