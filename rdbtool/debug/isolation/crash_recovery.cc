// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/crash_recovery.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/guest/memory/object_views.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

constexpr uint64_t kFirstInterval = 20; // ticks; then twice as long each time

// These end the replay, not the region that runs: someone sent it, or nobody reads any more.
bool is_for_all(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGPIPE || signal == SIGHUP ||
         signal == SIGQUIT || signal == SIGKILL;
}

int wait_for_end(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void end_in_the_same_way(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  raise(signal);
  _exit(128 + signal);
}

} // namespace

bool CrashRecovery::begin_loading(const std::string& module) {
  if (!in_use_) return false;
  std::fflush(nullptr);
  void* memory = mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* loading = new (memory) bool(true);
  pid_t successor = fork();
  if (successor < 0) return false;
  if (successor == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    session_.loading_unfinished = loading;
    return true;
  }
  int status = wait_for_end(successor);
  if (*loading && !(WIFSIGNALED(status) && is_for_all(WTERMSIG(status)))) {
    mute(false);
    print_error("rdb: cannot load {}: its own code ended the process that loaded it; --no-module goes on "
                "without it\n",
                module);
    _exit(kExitFailure);
  }
  end_in_the_same_way(status);
}

bool CrashRecovery::make_copy(uint64_t ticks, guest::AddressSpace& space) {
  next_ = ticks + (kFirstInterval << copies_);
  ++copies_;
  std::fflush(nullptr);
  for (;;) {
    void* memory =
        mmap(nullptr, sizeof(SuccessorReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false; // then there is no way back
    auto* message = new (memory) SuccessorReport;
    pid_t successor = guest::fork_copy(space);
    if (successor < 0) return false;
    if (successor == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      message_ = message;
      return true;
    }
    // This process is the copy from now on.
    wait_for(successor, *message);
    // What has run out of time may do so at an earlier hit than in the first attempt.
    std::erase_if(places_, [&](const SuccessorReport& place) { return place.is_about(*message); });
    places_.push_back(*message);
    munmap(memory, sizeof(SuccessorReport));
    catches_up_ = true;
    be_silent(true);
    // Another region may go wrong later: the copy stays, and what goes on is a new successor.
  }
}

// Comes back if the replay is to go on from here; else ends as the successor did.
void CrashRecovery::wait_for(pid_t successor, const SuccessorReport& message) {
  int status = wait_for_end(successor);
  bool interrupted = WIFSIGNALED(status) && is_for_all(WTERMSIG(status));
  if (message.count != nullptr && !interrupted) {
    if (!message.told)
      print_error("rdb: {}: {}; this {} is not run any more\n",
                  message.callback != 0 ? kCallbackPlace : message.count->place,
                  message.reason[0] != '\0' ? message.reason : "debug code ended the process that it ran in",
                  message.callback != 0 ? "callback" : "region");
    return;
  }
  end_in_the_same_way(status);
}

void CrashRecovery::say_why(const char* reason) {
  if (message_ == nullptr) return;
  std::strncpy(message_->reason, reason, sizeof message_->reason - 1);
}

void CrashRecovery::go_back() {
  if (message_ == nullptr) return;
  message_->told = true;
  _exit(kExitFailure);
}

bool CrashRecovery::is_place(const RegionCount& count) {
  auto found = std::find_if(places_.begin(), places_.end(), [&](const SuccessorReport& place) {
    return place.is_about(count) && count.hits + 1 == place.hits;
  });
  if (found == places_.end()) return false;
  places_.erase(found);
  if (!places_.empty()) return true;
  catches_up_ = false;
  be_silent(muted_);
  return true;
}

void CrashRecovery::be_silent(bool silent) {
  std::fflush(nullptr);
  for (MutedOutput& output : outputs_) {
    if (silent && output.saved < 0) {
      int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
      output.saved = fcntl(output.descriptor, F_DUPFD_CLOEXEC, 100);
      dup2(null, output.descriptor);
      close(null);
    } else if (!silent && output.saved >= 0) {
      dup2(output.saved, output.descriptor);
      close(output.saved);
      output.saved = -1;
    }
  }
}

} // namespace rdb::debug
