// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/sent_signals.h"

#include "rdbtool/guest/raw_syscall.h"
#include "rdbtool/guest/signal_frame.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::record {
namespace {

// All that would end rdb, and SIGWINCH: a signal to the group that it shares with the program is not to end
// the recording. Those that stop and continue a group are rdb's own, too.
constexpr int kNotHeld[] = {SIGKILL, SIGSTOP, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGURG};
// Sent by the kernel, to a terminal's foreground group; or about rdb itself.
constexpr int kOfTerminal[] = {SIGHUP, SIGINT, SIGQUIT, SIGWINCH};
constexpr int kOwn[] = {SIGPIPE, SIGXFSZ, SIGXCPU};

template <size_t N>
bool is_among(int signal, const int (&list)[N]) {
  return std::find(std::begin(list), std::end(list), signal) != std::end(list);
}

constexpr uint64_t kMillisecond = 1'000'000;
// Who signals the processes of a group one by one needs a moment for all of them.
constexpr uint64_t kMoment = 10 * kMillisecond;
constexpr uint64_t kAtOnce = 50 * kMillisecond;

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMillisecond + static_cast<uint64_t>(now.tv_nsec);
}

// The program has inherited that, too.
bool is_ignored(int signal) {
  guest::SignalAction action;
  return guest::raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<int64_t>(&action), 8) == 0 &&
         action.handler == reinterpret_cast<uint64_t>(SIG_IGN);
}

constexpr size_t kStack = 16384;

// What rdb holds back waits here, too. No function of the C library: its variables are rdb's.
int stand_by(void* rdb) {
  guest::raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  while (guest::raw_syscall(SYS_getppid) == reinterpret_cast<int64_t>(rdb))
    guest::raw_syscall(SYS_pause);
  guest::raw_syscall(SYS_exit, 0);
  return 0;
}

} // namespace

SentSignals::SentSignals() {
  // Not with sigaddset(): to that, the two which the C library uses itself do not exist.
  uint64_t held = 0;
  for (int signal = 1; signal <= 64; ++signal)
    if (!is_among(signal, kNotHeld) && !is_ignored(signal)) held |= 1ull << (signal - 1);
  sigemptyset(&old_mask_);
  guest::raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<int64_t>(&held),
                     reinterpret_cast<int64_t>(&old_mask_), sizeof held);
  fd_ = static_cast<int>(guest::raw_syscall(SYS_signalfd4, -1, reinterpret_cast<int64_t>(&held), sizeof held,
                                            SFD_CLOEXEC | SFD_NONBLOCK));
  replace_bystander();
}

SentSignals::~SentSignals() {
  drop();
  close(fd_);
  end_bystander();
  guest::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&old_mask_), 0,
                     sizeof(uint64_t));
}

// What was sent to the program's group while it ended is not for rdb, which ends as the program does.
void SentSignals::drop() const {
  signalfd_siginfo info;
  while (read(fd_, &info, sizeof info) == sizeof info) {
  }
}

void SentSignals::replace_bystander() {
  // It shares rdb's memory: it is made for every recording, and a copy would cost more than a short one
  // takes.
  auto stack = std::make_unique<char[]>(kStack);
  pid_t next = clone(stand_by, stack.get() + kStack, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD,
                     reinterpret_cast<void*>(static_cast<intptr_t>(getpid())));
  end_bystander();
  bystander_ = next;
  stack_ = std::move(stack);
}

void SentSignals::end_bystander() {
  if (bystander_ <= 0) return;
  kill(bystander_, SIGKILL);
  while (waitpid(bystander_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The signals that wait for the bystander, as a mask.
uint64_t SentSignals::waiting_for_bystander() const {
  if (bystander_ <= 0) return 0;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/status", bystander_);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[8192];
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size < 0 ? 0 : size] = 0;
  constexpr char kName[] = "\nShdPnd:";
  const char* pending = std::strstr(text, kName);
  return pending == nullptr ? 0 : std::strtoull(pending + sizeof kName - 1, nullptr, 16);
}

std::optional<SentSignals::Sent> SentSignals::take() {
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  timespec moment{0, static_cast<long>(kMoment)};
  nanosleep(&moment, nullptr);
  uint64_t others = waiting_for_bystander();
  if (others != 0) replace_bystander();

  Sent sent{.number = static_cast<int>(info.ssi_signo)};
  bool by_kernel = info.ssi_code > 0;
  if (!by_kernel) sent.by = static_cast<pid_t>(info.ssi_pid);
  bool by_terminal = by_kernel && is_among(sent.number, kOfTerminal);
  sent.for_rdb = sent.by == getpid() || (by_kernel && is_among(sent.number, kOwn));
  if (by_terminal || others >> (sent.number - 1) & 1) sent.to = SentTo::group;
  uint64_t now = now_ns();
  sent.again = sent.number == last_ && now - last_ns_ < kAtOnce;
  last_ = sent.number;
  last_ns_ = now;
  return sent;
}

} // namespace rdb::record
