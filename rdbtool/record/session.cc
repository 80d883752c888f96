// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/session.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/ending.h"
#include "rdbtool/guest/host_descriptors.h"
#include "rdbtool/record/recorder.h"
#include "rdbtool/trace/log_consumer.h"
#include "rdbtool/trace/trace_dir.h"
#include "rdbtool/trace/writer.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <memory>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::record {
namespace {

constexpr int kTerminalSignals[] = {SIGINT, SIGQUIT};

constexpr uint64_t kSecond = 1000000000;

uint64_t unix_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

std::set<int> open_descriptors() {
  std::set<int> result;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return result;
  while (const dirent* entry = readdir(directory.get()))
    if (entry->d_name[0] != '.') result.insert(static_cast<int>(std::strtol(entry->d_name, nullptr, 10)));
  result.erase(dirfd(directory.get()));
  return result;
}

// The guest has what rdb was started with; what rdb has opened since is not for it.
trace::ProducerEnds hide_own_descriptors(trace::ProducerEnds ends, const std::set<int>& inherited) {
  ends.ring_fd = guest::move_out_of_reach(ends.ring_fd);
  ends.control_fd = guest::move_out_of_reach(ends.control_fd);
  for (int fd : open_descriptors())
    if (!inherited.contains(fd) && !guest::is_own_descriptor(fd)) close(fd);
  return ends;
}

// Ends as the guest ends.
[[noreturn]] void run_guest(const guest::ProcessOptions& options, const RecorderOptions& recording,
                            trace::ProducerEnds ends) {
  int status = kExitFailure;
  try {
    trace::LogProducer log;
    if (!log.attach(ends)) bug("cannot attach to the log");
    Recorder recorder(log, recording);
    guest::Process process(options, recorder);
    guest::end_as(process.run());
  } catch (const std::exception& error) {
    fmt::print(stderr, "rdb: {}\n", failure_text(error));
    if (dynamic_cast<const UserError*>(&error) != nullptr) status = kExitUsage;
  }
  std::fflush(nullptr);
  _exit(status);
}

// Nothing is recorded of what cannot be run.
void check_program(const guest::ProcessOptions& options) {
  guest::Program program;
  int error = guest::resolve_program(options.path, options.argv, program);
  if (error == -ENOEXEC)
    user_error("cannot run {}: it is neither a program for this machine nor a script with a #! line",
               program.path);
  std::string script = program.path == options.path ? "" : ", the interpreter of " + options.path;
  if (error != 0) user_error("cannot run {}{}: {}", program.path, script, std::strerror(-error));
}

trace::Metadata describe(const SessionOptions& options) {
  trace::Metadata metadata;
  metadata.rdb_version = RDB_VERSION;
  metadata.program = options.process.path;
  metadata.command = options.process.argv;
  metadata.environment = options.process.environment;
  char directory[4096];
  if (getcwd(directory, sizeof directory) != nullptr) metadata.directory = directory;
  metadata.layout_seed = options.process.machine.seed;
  metadata.aslr = options.process.machine.randomise;
  if (options.process.machine.turns.chaos) metadata.chaos_seed = options.process.machine.turns.seed;
  metadata.checksums = options.checksum_interval != 0;
  return metadata;
}

// Waits for the guest while its log is written. Ctrl-C goes to the guest, which is in the same foreground
// group; a second one within a second ends the recording.
class Watcher {
public:
  Watcher(pid_t child, trace::LogConsumer& consumer) : child_(child), consumer_(consumer) {
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    sigset_t signals;
    sigemptyset(&signals);
    for (int s : kTerminalSignals)
      sigaddset(&signals, s);
    signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  }
  ~Watcher() {
    close(pidfd_);
    close(signal_fd_);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Until the first process has ended, and then all others: its status.
  int wait() {
    int status = 0;
    for (bool first_ended = false;;) {
      // Processes that are told to end do so at their next input, which may be far away.
      bool late = ended_at_ != 0 && unix_ns() - ended_at_ > kSecond;
      if (first_ended && (consumer_.idle() || ended_by_user_ || late)) return status;
      pollfd fds[3] = {
          {consumer_.fd(), POLLIN, 0}, {first_ended ? -1 : pidfd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
      poll(fds, 3, consumer_.timeout_ms());
      consumer_.pump();
      if (fds[2].revents & POLLIN) on_terminal_signal();
      bool told = consumer_.stopped() == trace::StopReason::kRequested && !consumer_.failure().empty();
      if (told && ended_at_ == 0) {
        ended_at_ = unix_ns();
        if (!first_ended) kill(child_, SIGKILL);
      }
      if (!first_ended && waitpid(child_, &status, WNOHANG) == child_) first_ended = true;
    }
  }
  bool ended_by_user() const { return ended_by_user_; }

private:
  void on_terminal_signal() {
    signalfd_siginfo info;
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    uint64_t now = unix_ns();
    if (now - last_ < kSecond) {
      ended_by_user_ = true;
      consumer_.stop(trace::StopReason::kRequested);
      kill(child_, SIGKILL);
    }
    last_ = now;
  }

  pid_t child_;
  trace::LogConsumer& consumer_;
  int pidfd_;
  int signal_fd_;
  uint64_t last_ = 0;
  bool ended_by_user_ = false;
  uint64_t ended_at_ = 0; // when a process could not be recorded any further
};

trace::TraceEnd end_of(const SessionResult& result, const trace::LogConsumer& consumer) {
  trace::TraceEnd end;
  end.unix_ns = unix_ns();
  end.status = result.ending.value;
  end.reason = result.reason;
  if (consumer.stopped() == trace::StopReason::kDiskFull)
    end.kind = trace::EndKind::kDiskFull;
  else if (consumer.stopped() == trace::StopReason::kRequested)
    end.kind = trace::EndKind::kStopped;
  else if (!result.complete)
    end.kind = trace::EndKind::kFailed;
  else
    end.kind = result.ending.kind == guest::Ending::Kind::signalled ? trace::EndKind::kSignalled
                                                                    : trace::EndKind::kExited;
  return end;
}

} // namespace

void continue_recording(const guest::Handover& handover, const guest::ProcessOptions& options) {
  RecorderOptions recording;
  recording.origin = trace::ProcessOrigin::kExeced;
  recording.origin_time = Time(handover.exec_time);
  recording.checksum_interval = handover.checksum_interval;
  run_guest(options, recording, {handover.ring_fd, handover.control_fd});
}

SessionResult record(const SessionOptions& options) {
  check_program(options.process);
  std::set<int> inherited = open_descriptors();
  trace::TraceWriter writer(describe(options), options.directory);
  trace::RecorderLock lock(writer.path());
  trace::LogConsumer consumer(writer);
  trace::ProducerEnds ends = consumer.open_process();

  sigset_t terminal;
  sigset_t old_mask;
  sigemptyset(&terminal);
  for (int s : kTerminalSignals)
    sigaddset(&terminal, s);
  sigprocmask(SIG_BLOCK, &terminal, &old_mask);
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &old_mask, nullptr);
    RecorderOptions recording;
    recording.checksum_interval = options.checksum_interval;
    recording.check_pages = options.check_pages;
    run_guest(options.process, recording, hide_own_descriptors(ends, inherited));
  }
  trace::LogProducer::close_ends(ends);
  // Every process of the tree takes one here.
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);

  Watcher watcher(child, consumer);
  int status = watcher.wait();
  consumer.finish();

  SessionResult result;
  result.trace = writer.path();
  result.ending = guest::ending_of(status);
  if (!consumer.failure().empty()) {
    if (consumer.stopped() == trace::StopReason::kRequested)
      result.ending = {guest::Ending::Kind::exited, kExitFailure};
    result.complete = false;
    result.reason = consumer.failure();
  } else if (watcher.ended_by_user()) {
    result.complete = false;
    result.reason = "ended by a second Ctrl-C";
  } else if (!consumer.exit()) {
    result.complete = false;
    result.reason =
        WIFSIGNALED(status)
            ? fmt::format("the recorded process was killed by signal {}", WTERMSIG(status))
            : "rdb could not go on" + (consumer.gave_up().empty() ? "" : ": " + consumer.gave_up());
  }
  writer.finish(end_of(result, consumer));
  sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  return result;
}

} // namespace rdb::record
