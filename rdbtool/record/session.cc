// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/session.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/record/exec_handover.h"
#include "rdbtool/record/recorder.h"
#include "rdbtool/record/signal_forwarding.h"
#include "rdbtool/record/unloaded_program.h"
#include "rdbtool/trace/ring/log_consumer.h"
#include "rdbtool/trace/trace_dir.h"
#include "rdbtool/trace/trace_writer.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::record {
namespace {

// Of these a second one within a second ends the recording. SIGHUP is not among them: a terminal that is
// closed sends several.
constexpr int kEndings[] = {SIGINT, SIGQUIT, SIGTERM};

constexpr uint64_t kSecond = 1000000000;

using Clock = std::chrono::steady_clock;

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
  if (guest::own_error_stream() < 0 && errno == EMFILE) { // while it is there
    print_error("rdb: too few descriptors for rdb (ulimit -n)\n");
    _exit(kExitUsage);
  }
  guest::release_occupied_streams();
  return ends;
}

// What is number 2 by now may be a file of the guest's.
void say(const std::string& text) {
  std::string line = fmt::format("rdb: {}\n", visible_lines(text));
  [[maybe_unused]] ssize_t ignored = write(guest::own_error_stream(), line.data(), line.size());
}

// What has become another program by execve has a log of its own, whatever became of that.
std::unique_ptr<guest::Process> load_guest(const guest::ProcessOptions& options,
                                           const RecorderOptions& recording, trace::LogProducer& log,
                                           Recorder& recorder) {
  bool execed = recording.origin == trace::ProcessOrigin::execed;
  try {
    return std::make_unique<guest::Process>(options, recorder, recorder);
  } catch (const guest::KilledAtStart& death) {
    say(fmt::format("{}: it is killed before its first instruction", death.what()));
    guest::Ending ending{guest::Ending::Kind::signalled, SIGSEGV};
    if (execed) log_killed_at_start(log, options, recording, ending);
    guest::end_as(ending);
  } catch (const std::exception& error) {
    if (execed) log_not_loaded(log, options, recording, failure_text(error));
    throw;
  }
}

// Ends as the guest ends.
[[noreturn]] void run_guest(const guest::ProcessOptions& options, const RecorderOptions& recording,
                            trace::ProducerEnds ends) {
  int status = kExitFailure;
  try {
    trace::LogProducer log;
    if (!log.attach(ends)) bug("cannot attach to the log");
    Recorder recorder(log, recording);
    guest::end_as(load_guest(options, recording, log, recorder)->run());
  } catch (const std::exception& error) {
    say(visible_text(failure_text(error)));
    if (dynamic_cast<const UserError*>(&error) != nullptr) status = kExitUsage;
  }
  std::fflush(nullptr);
  _exit(status);
}

// Nothing is recorded of what cannot be run.
void check_program(const guest::ProcessOptions& options) {
  guest::require_proc();
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
  metadata.layout_version = static_cast<uint32_t>(options.process.machine.layout);
  metadata.layout_top = options.process.machine.layout_top;
  metadata.layout_seed = options.process.machine.seed;
  metadata.aslr = options.process.machine.randomise;
  if (options.process.machine.turns.chaos) metadata.chaos_seed = options.process.machine.turns.seed;
  metadata.checksums = options.checksum_interval != 0;
  return metadata;
}

// Removes a trace again unless a program was started for it. To be made before what writes the trace: its
// descriptors may be the ones that are missing, for removing the trace as well.
class FreshTrace {
public:
  FreshTrace() = default;
  ~FreshTrace() {
    if (path_.empty()) return;
    try {
      trace::remove_trace(path_);
    } catch (const std::exception&) { // the trouble that is under way matters more
    }
  }
  FreshTrace(const FreshTrace&) = delete;
  FreshTrace& operator=(const FreshTrace&) = delete;
  void is_at(std::string path) { path_ = std::move(path); }
  void keep() { path_.clear(); }

private:
  std::string path_;
};

// Waits for the guest while its log is written, and passes on what is sent to rdb.
class Watcher {
public:
  Watcher(pid_t child, trace::LogConsumer& consumer, SentSignals& signals, const SessionOptions& options)
      : child_(child), consumer_(consumer), signals_(signals), options_(options) {
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  }
  ~Watcher() { close(pidfd_); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Until the first process has ended, and then all others: its status.
  int wait() {
    int status = 0;
    for (;;) {
      // Processes that are told to end do so at their next input, which may be far away.
      bool late = ended_at_ != 0 && unix_ns() - ended_at_ > kSecond;
      bool ended_early = ended_by_ != 0 || too_late_;
      if (first_ended_ && (consumer_.idle() || ended_early || late)) return status;
      pollfd fds[3] = {
          {consumer_.fd(), POLLIN, 0}, {first_ended_ ? -1 : pidfd_, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
      poll(fds, 3, patience());
      consumer_.pump();
      if (options_.meanwhile) options_.meanwhile();
      if (!too_late_ && options_.deadline && Clock::now() >= *options_.deadline) {
        too_late_ = true;
        end_now();
      }
      if (fds[2].revents & POLLIN)
        if (std::optional<SentSignals::Sent> sent = signals_.take()) on_signal(*sent);
      bool told = consumer_.stopped() == trace::LogStop::requested && !consumer_.failure().empty();
      if (told && ended_at_ == 0) {
        ended_at_ = unix_ns();
        if (!first_ended_) kill(child_, SIGKILL);
      }
      if (!first_ended_ && waitpid(child_, &status, WNOHANG) == child_) first_ended_ = true;
    }
  }
  int ended_by() const { return ended_by_; } // the second signal; 0: none
  int told_to_end() const { return told_to_end_; }
  bool too_late() const { return too_late_; }

private:
  void on_signal(const SentSignals::Sent& sent) {
    // What recorded processes send to their parent is not meant for themselves.
    if (sent.for_rdb || (sent.by != 0 && consumer_.has_recorded(sent.by))) return;
    if (sent.to == SentSignals::SentTo::rdb || !in_group(child_)) pass_on(sent.number);
    bool ends = std::ranges::find(kEndings, sent.number) != std::end(kEndings);
    if (ends || sent.number == SIGHUP) told_to_end_ = sent.number;
    if (!ends || sent.again) return;
    uint64_t now = unix_ns();
    if (sent.number == last_ && now - last_ns_ < kSecond) {
      ended_by_ = sent.number;
      end_now();
    }
    last_ = sent.number;
    last_ns_ = now;
  }

  // Whatever the processes are doing: one that waits would never notice that its log is closed.
  void end_now() {
    consumer_.stop(trace::LogStop::requested);
    for (pid_t process : consumer_.processes())
      kill(process, SIGKILL);
    if (!first_ended_) kill(child_, SIGKILL);
  }

  int patience() const {
    int most = consumer_.timeout_ms();
    if (!options_.deadline || too_late_) return most;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(*options_.deadline - Clock::now()).count();
    int until_deadline = static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
    return most < 0 ? until_deadline : std::min(most, until_deadline);
  }

  bool in_group(pid_t process) const { return first_ended_ || getpgid(process) == getpgrp(); }

  // To the program; to all that are left when that has ended.
  void pass_on(int signal) {
    if (!first_ended_) {
      kill(child_, signal);
      return;
    }
    for (pid_t process : consumer_.processes())
      kill(process, signal);
  }

  pid_t child_;
  trace::LogConsumer& consumer_;
  SentSignals& signals_;
  const SessionOptions& options_;
  int pidfd_;
  bool first_ended_ = false;
  int last_ = 0; // of those that end it
  uint64_t last_ns_ = 0;
  int ended_by_ = 0;
  int told_to_end_ = 0;
  bool too_late_ = false;
  uint64_t ended_at_ = 0; // when a process could not be recorded any further
};

trace::TraceEnd end_of(const SessionResult& result, const trace::LogConsumer& consumer) {
  trace::TraceEnd end;
  end.unix_ns = unix_ns();
  end.status = result.disk_full ? 0 : result.ending.value; // how the program would have ended nobody knows
  end.reason = result.reason;
  bool killed = !consumer.exit() && result.ending.kind == guest::Ending::Kind::signalled &&
                result.ending.value == SIGKILL;
  if (result.disk_full)
    end.kind = trace::EndKind::disk_full;
  else if (consumer.stopped() == trace::LogStop::requested)
    end.kind = trace::EndKind::stopped;
  else if (!result.complete && !killed)
    end.kind = trace::EndKind::failed;
  else
    end.kind = result.ending.kind == guest::Ending::Kind::signalled ? trace::EndKind::signalled
                                                                    : trace::EndKind::exited;
  return end;
}

// Who ignores SIGCHLD is not told how its children end.
class ChildrenAreTold {
public:
  ChildrenAreTold() {
    struct sigaction told{};
    told.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &told, &old_);
  }
  void restore() const { sigaction(SIGCHLD, &old_, nullptr); }

private:
  struct sigaction old_;
};

// The process that runs and records the program.
pid_t start_guest(const SessionOptions& options, const trace::ProducerEnds& ends,
                  const std::set<int>& inherited, const SentSignals& signals,
                  const ChildrenAreTold& children) {
  pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  children.restore();
  RecorderOptions recording;
  recording.checksum_interval = options.checksum_interval;
  recording.check_pages = options.check_pages;
  // What comes before the program's first instruction belongs to its recording: it stays blocked until
  // then.
  guest::ProcessOptions process = options.process;
  process.blocked = signals.old_mask();
  run_guest(process, recording, hide_own_descriptors(ends, inherited));
}

// Every process of the tree takes one here.
void allow_all_descriptors() {
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
}

// How the program has ended; or why the recording has ended before it did.
SessionResult result_of(int status, const Watcher& watcher, const trace::LogConsumer& consumer) {
  SessionResult result;
  result.ending = guest::ending_of(status);
  result.told_to_end = watcher.told_to_end();
  auto incomplete = [&](std::string reason) {
    result.complete = false;
    result.reason = std::move(reason);
  };
  // The log of a program that has ended is whole, although its end found no room in the log's file.
  bool disk_full = consumer.stopped() == trace::LogStop::disk_full;
  if (!consumer.failure().empty() && !(disk_full && consumer.exit())) {
    result.ending = {guest::Ending::Kind::exited, kExitFailure};
    result.disk_full = disk_full;
    incomplete(consumer.failure());
  } else if (int signal = watcher.ended_by(); signal != 0) {
    incomplete("ended by a second " +
               (signal == SIGINT ? "Ctrl-C" : guest::describe({guest::Ending::Kind::signalled, signal})));
  } else if (watcher.too_late()) {
    result.too_late = true;
    incomplete("the program was still running when its time was over");
  } else if (!consumer.exit() && WIFSIGNALED(status)) {
    incomplete(fmt::format("the program was killed by {}", guest::describe(guest::ending_of(status))));
  } else if (!consumer.exit()) {
    incomplete("rdb could not go on" + (consumer.gave_up().empty() ? "" : ": " + consumer.gave_up()));
  }
  return result;
}

} // namespace

void continue_if_recorded(const guest::Handover& handover, const guest::ProcessOptions& options) {
  std::optional<ExecHandover> own = ExecHandover::get(handover);
  if (!own) return;
  RecorderOptions recording;
  recording.origin = trace::ProcessOrigin::execed;
  recording.origin_time = own->exec_time;
  recording.checksum_interval = own->checksum_interval;
  run_guest(options, recording, own->ends);
}

SessionResult record(const SessionOptions& options) {
  check_program(options.process);
  std::set<int> inherited = open_descriptors();
  FreshTrace fresh;
  trace::TraceWriter writer(describe(options), options.directory);
  fresh.is_at(writer.path());
  trace::RecorderLock lock(writer.path());
  trace::LogConsumer consumer(writer);
  trace::ProducerEnds ends = consumer.open_process();

  std::fflush(nullptr); // this starts a process, and so does the next
  SentSignals signals(options.process.argv);
  ChildrenAreTold children;
  pid_t child = start_guest(options, ends, inherited, signals, children);
  fresh.keep();
  trace::LogProducer::close_ends(ends);
  allow_all_descriptors();

  Watcher watcher(child, consumer, signals, options);
  int status = watcher.wait();
  // Whoever is impatient sends a third one while rdb still says what it has recorded.
  if (watcher.ended_by() != 0) signals.keep_held();
  children.restore();
  consumer.finish();

  SessionResult result = result_of(status, watcher, consumer);
  result.trace = writer.path();
  writer.finish(end_of(result, consumer));
  if (!writer.has_process()) {
    trace::remove_trace(result.trace);
    result.trace.clear();
  }
  return result;
}

} // namespace rdb::record
