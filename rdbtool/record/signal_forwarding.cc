// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/signal_forwarding.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/signals/signal_frame.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
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
  return raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<int64_t>(&action), 8) == 0 &&
         action.handler == reinterpret_cast<uint64_t>(SIG_IGN);
}

constexpr size_t kStack = 16384;
constexpr char kName[] = "signal-watch"; // without "rdb", which pkill would find

struct Bystander {
  pid_t rdb;
  std::optional<prctl_mm_map> shown; // of rdb, with another command line
};

// What rdb holds back waits here, too. No function of the C library: a thread of rdb may have had its locks.
int stand_by(void* argument) {
  auto& own = *static_cast<Bystander*>(argument);
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  raw_syscall(SYS_prctl, PR_SET_NAME, reinterpret_cast<int64_t>(kName));
  if (own.shown) {
    raw_syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, reinterpret_cast<int64_t>(&*own.shown),
                sizeof *own.shown, 0);
  }
  while (raw_syscall(SYS_getppid) == own.rdb)
    raw_syscall(SYS_pause);
  raw_syscall(SYS_exit, 0);
  return 0;
}

} // namespace

SentSignals::SentSignals(const std::vector<std::string>& command) : shown_words_(kName) {
  for (const std::string& word : command)
    shown_words_ += '\0' + word;
  // Not with sigaddset(): to that, the two which the C library uses itself do not exist.
  uint64_t held = 0;
  for (int signal = 1; signal <= 64; ++signal)
    if (!is_among(signal, kNotHeld) && !is_ignored(signal)) held |= 1ull << (signal - 1);
  sigemptyset(&old_mask_);
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<int64_t>(&held),
              reinterpret_cast<int64_t>(&old_mask_), sizeof held);
  fd_ = static_cast<int>(raw_syscall(SYS_signalfd4, -1, reinterpret_cast<int64_t>(&held), sizeof held,
                                     SFD_CLOEXEC | SFD_NONBLOCK));
  replace_bystander();
}

SentSignals::~SentSignals() {
  drop();
  close(fd_);
  end_bystander();
  if (kept_held_) return;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&old_mask_), 0, sizeof(uint64_t));
}

// What was sent to the program's group while it ended is not for rdb, which ends as the program does.
void SentSignals::drop() const {
  signalfd_siginfo info;
  while (read(fd_, &info, sizeof info) == sizeof info) {
  }
}

void SentSignals::replace_bystander() {
  // With memory of its own, in which its command line is another.
  Bystander next{getpid(), guest::shown_in_proc()};
  if (next.shown) {
    next.shown->arg_start = reinterpret_cast<uint64_t>(shown_words_.c_str());
    next.shown->arg_end = next.shown->arg_start + shown_words_.size() + 1;
  }
  auto stack = std::make_unique<char[]>(kStack);
  pid_t process = clone(stand_by, stack.get() + kStack, CLONE_FILES | CLONE_FS | SIGCHLD, &next);
  end_bystander();
  bystander_ = process;
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
  constexpr char kPending[] = "\nShdPnd:";
  const char* pending = std::strstr(text, kPending);
  return pending == nullptr ? 0 : std::strtoull(pending + sizeof kPending - 1, nullptr, 16);
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
