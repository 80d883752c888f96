// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/gdb_process.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/exec_words.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/temporary_folder.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/ending_signals.h"
#include "rdbtool/cli/gdb_environment.h"
#include "rdbtool/cli/gdb_time.h"
#include "rdbtool/gdb/protocol/server.h"
#include "rdbtool/gdb/replay/sysroot.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rdb::cli {
namespace {

// Scripts lie in share/rdb, beside the directory of the program.
std::string script_path(const char* name) {
  std::filesystem::path program = guest::self().program;
  std::string path = program.parent_path().parent_path() / "share/rdb" / name;
  if (std::string why = why_not_trusted_as(path, program); !why.empty()) user_error("{}", why);
  return path;
}

} // namespace

void check_names(gdb::ReplayTarget& target) {
  std::vector<std::string> names = {target.executable()};
  for (const trace::MappedFile& file : target.trace().metadata().files)
    names.push_back(file.path);
  for (const std::string& name : names)
    if (!is_visible(name))
      user_error("gdb is not started: the name of a recorded file has characters that cannot be seen: {}",
                 name);
}

namespace {

constexpr int kCannotExecute = 127;
// gdb's exit status when the script (rdb-gdb.py, ANSWERED) has answered the whole question.
constexpr int kAnswered = 10;
// When the script has said itself why there is no answer: see there.
constexpr int kExplained[] = {kExitUsage, kExitFailure};

pid_t start_gdb(const std::vector<std::string>& words, Whose whose, const GdbTime& time) {
  std::vector<char*> argv = exec_words(words);
  std::string python = std::filesystem::path(script_path("python/sitecustomize.py")).parent_path();
  sigset_t set = ending_signals(), before;
  sigprocmask(SIG_BLOCK, &set, &before); // until it is known whom to tell
  pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (whose == Whose::ours) {
      setsid();                         // Ctrl-C at the terminal is for the process that asks
      prctl(PR_SET_PDEATHSIG, SIGKILL); // and without that process nobody waits for an answer
      time.limit_this_process();
    }
    set_gdb_environment(whose, python);
    execvp(argv[0], argv.data());
    print_error("rdb: {}: {}; install gdb, or name another one with 'rdb gdb --gdb'\n", words[0],
                strerror(errno));
    _exit(kCannotExecute);
  }
  if (child < 0) user_error("gdb cannot be started: {}", strerror(errno));
  return child;
}

// Ends gdb when nobody reads standard output any more: gdb itself would go on to the end of the recording.
class ReaderWatch {
public:
  explicit ReaderWatch(pid_t gdb) : gdb_(gdb), stop_(eventfd(0, EFD_CLOEXEC)), thread_([this] { watch(); }) {}
  ~ReaderWatch() {
    stop();
    close(stop_);
  }
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;
  // Before the number of gdb's process may become another's.
  void stop() {
    if (!thread_.joinable()) return;
    eventfd_write(stop_, 1);
    thread_.join();
  }
  // After stop(): it has ended gdb.
  bool has_ended_gdb() const { return has_ended_gdb_; }

private:
  void watch() {
    pollfd fds[2] = {{STDOUT_FILENO, 0, 0}, {stop_, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    if (fds[1].revents != 0 || !(fds[0].revents & POLLERR)) return;
    has_ended_gdb_ = true;
    kill(gdb_, SIGKILL);
  }

  pid_t gdb_;
  int stop_;
  bool has_ended_gdb_ = false;
  std::thread thread_; // begins when all of the above is there
};

// Of one that has answered a question, or has not. If the replay has failed, that is the reason.
int end_of_query(const std::string& gdb, int own, bool failed) {
  if (own == kAnswered) return 0;
  if (failed || std::ranges::find(kExplained, own) != std::end(kExplained)) return own;
  print_error("rdb: {} ended (status {}) before it had given the whole answer: was it ended by a signal?\n",
              gdb, own);
  return kExitFailure;
}

// Its exit status for ours. What gdb could not say itself is said here.
int end_of_gdb(const std::string& gdb, int status, bool connected, bool failed, Whose whose,
               const GdbTime& time) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU && whose == Whose::ours) {
    print_error("rdb: {} was ended: it computed for more than {} s without an answer, perhaps because the "
                "program's debug information is damaged (RDB_GDB_SECONDS=N gives it more time)\n",
                gdb, time.seconds());
    return kExitFailure;
  }
  if (WIFSIGNALED(status)) {
    print_error("rdb: {} was ended by {}\n", gdb,
                guest::describe({guest::Ending::Kind::signalled, WTERMSIG(status)}));
    return 128 + WTERMSIG(status);
  }
  int own = WEXITSTATUS(status);
  if (whose == Whose::ours && (connected || own == 0)) return end_of_query(gdb, own, failed);
  if (connected || own == 0) return own;
  if (own == kCannotExecute) return kExitUsage; // the child has said why
  print_error("rdb: {} ended with status {} before it was connected to the recording\n", gdb, own);
  return whose == Whose::users ? own : kExitFailure;
}

uint64_t size_of_files(const trace::TraceReader& trace) {
  uint64_t bytes = 0;
  for (const trace::MappedFile& file : trace.metadata().files) {
    std::error_code error;
    uint64_t size = std::filesystem::file_size(trace.files().path_of(file.content), error);
    if (!error) bytes += size;
  }
  return bytes;
}

struct GdbEnd {
  int status = 0;        // for rdb's own exit status
  bool given_up = false; // rdb has ended it, as nobody waits for its answer any more
};

// Starts gdb with the script loaded, `connect ADDRESS`, and the arguments; serves it until it ends.
GdbEnd serve_gdb(gdb::ReplayTarget& target, const std::string& gdb, const std::string& connect,
                 const std::vector<std::string>& arguments, Whose whose) {
  check_names(target);
  TemporaryFolder directory("rdb-gdb");
  std::string tree = directory.path() + "/root";
  std::filesystem::create_directory(tree);
  std::string sysroot = gdb::prepare_sysroot(target.trace(), tree);
  gdb::Listener listener(directory.path() + "/socket");

  std::string program = sysroot == "/" ? target.executable() : sysroot + target.executable();
  std::vector<std::string> words = gdb_settings(whose, sysroot);
  words.insert(words.begin(), gdb);
  if (std::filesystem::exists(program))
    words.push_back(program);
  else
    words.insert(words.end(), {"-iex", "set sysroot target:"});
  words.insert(words.end(),
               {"-ex", "source " + script_path("rdb-gdb.py"), "-ex", connect + " " + listener.address()});
  words.insert(words.end(), arguments.begin(), arguments.end());

  GdbTime time(size_of_files(target.trace()));
  pid_t child = start_gdb(words, whose, time);
  follow_signals(child, whose);
  auto ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  std::optional<ReaderWatch> watch;
  if (whose == Whose::ours) watch.emplace(child);
  std::function<void()> on_move;
  if (whose == Whose::ours) on_move = [&] { time.begin_again(child); };
  // What has failed is said at the end, where the user does not read it in gdb.
  auto tell = [&](const std::string& line) {
    if (whose == Whose::users || !target.has_failed()) say(line);
  };
  bool connected = gdb::serve(listener, target, tell, ended, on_move);
  close(ended);
  if (watch) watch->stop();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (watch && watch->has_ended_gdb()) return {128 + SIGPIPE, true};
  if (int number = signal_that_ended_gdb(); number != 0) return {128 + number, true};
  return {end_of_gdb(gdb, status, connected, target.failure().has_value(), whose, time)};
}

// As gdb takes a word of a command line apart: a backslash counts even between quotes.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

} // namespace

void say(const std::string& line) {
  print_error("{}\n", line);
}

int run_gdb(gdb::ReplayTarget& target, const std::string& gdb, const std::vector<std::string>& arguments) {
  int status = serve_gdb(target, gdb, "target remote", arguments, Whose::users).status;
  // The user has read in gdb what went wrong.
  return status < 128 && target.failure() ? target.failure()->exit_status() : status;
}

int query_gdb(const std::string& trace, const std::string& process, const std::string& name,
              const std::vector<std::string>& words) {
  trace::TraceReader reader(trace);
  const trace::ProcessInfo& program = trace::program_named(reader, process);
  gdb::ReplayTarget target({reader.path(), program.name, {}, {}});
  std::string command = "rdb-" + name;
  for (const std::string& word : words)
    command += " " + quoted(word);
  GdbEnd end = serve_gdb(target, "gdb", "rdb-connect", {"-batch", "-ex", command}, Whose::ours);
  if (end.given_up) return end.status;
  std::fflush(stdout);
  if (target.failure()) target.failure()->raise();
  std::string damage = trace::find_damage(reader, program);
  if (damage.empty()) return end.status;
  print_error("rdb: {}\n", damage);
  return kExitUsage;
}

} // namespace rdb::cli
