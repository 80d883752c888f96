// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb gdb: starts an unmodified gdb on a recording, or only serves one for an IDE.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/gdb/navigator.h"
#include "rdbtool/gdb/replay_target.h"
#include "rdbtool/gdb/server.h"
#include "rdbtool/gdb/sysroot.h"
#include "rdbtool/guest/self.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

struct GdbOptions {
  std::string trace;
  std::string at = "start";
  std::string server;
  std::string gdb = "gdb";
  int32_t pid = 0;
};

// A directory that only this user can look into, removed at the end.
class PrivateDirectory {
public:
  PrivateDirectory() {
    const char* base = getenv("TMPDIR");
    path_ = std::string(base && *base ? base : "/tmp") + "/rdb-gdb-XXXXXX";
    if (!mkdtemp(path_.data())) user_error("{}: {}", path_, strerror(errno));
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

// The script lies in share/rdb, beside the directory of the program.
std::string script_path() {
  std::filesystem::path program = guest::self().program;
  return program.parent_path().parent_path() / "share/rdb/rdb-gdb.py";
}

void say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

pid_t start_gdb(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[0], argv.data());
    fmt::print(stderr, "rdb: {}: {}\n", words[0], strerror(errno));
    _exit(127);
  }
  if (child < 0) user_error("gdb cannot be started: {}", strerror(errno));
  return child;
}

int run_gdb(const GdbOptions& options, gdb::ReplayTarget& target, const std::vector<std::string>& arguments) {
  PrivateDirectory directory;
  std::string tree = directory.path() + "/root";
  std::filesystem::create_directory(tree);
  std::string sysroot = gdb::prepare_sysroot(target.trace(), tree);
  gdb::Listener listener(directory.path() + "/socket");

  std::string program = sysroot == "/" ? target.executable() : sysroot + target.executable();
  std::vector<std::string> words = {options.gdb, "-q", "-iex", "set sysroot " + sysroot};
  if (std::filesystem::exists(program))
    words.push_back(program);
  else
    words.insert(words.end(), {"-iex", "set sysroot target:"});
  words.insert(words.end(), {"-ex", "source " + script_path(), "-ex", "target remote " + listener.address()});
  words.insert(words.end(), arguments.begin(), arguments.end());

  pid_t child = start_gdb(words);
  signal(SIGINT, SIG_IGN); // Ctrl-C is for gdb
  auto ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  gdb::serve(listener, target, gdb::Serve::until_stopped, say, ended);
  close(ended);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run(const GdbOptions& options, const std::vector<std::string>& arguments) {
  gdb::ReplayTarget target({options.trace, options.pid, {}});
  target.seek(gdb::Navigator(target).parse(options.at));
  if (options.server.empty()) return run_gdb(options, target, arguments);
  gdb::Listener listener(options.server);
  say(fmt::format("rdb: serving {}; in gdb: target remote {}", target.trace().path(), listener.address()));
  gdb::serve(listener, target, gdb::Serve::until_stopped, say);
  return 0;
}

} // namespace

Action setup_gdb(CLI::App& app) {
  auto options = std::make_shared<GdbOptions>();
  app.add_option("TRACE", options->trace, "The recording: a directory, a name, or nothing for the latest");
  app.add_option("--at", options->at, "Begin at a time, NN% or end instead of at the start");
  app.add_option("-p,--pid", options->pid, "Debug this process of the recording instead of the first");
  app.add_option("--server", options->server,
                 "Only serve: on a Unix socket at this path, or a port of the loopback interface");
  app.add_option("--gdb", options->gdb, "The gdb to start");
  app.allow_extras();
  app.footer("Words behind -- are gdb's own:\n  rdb gdb\n  rdb gdb --at end prog-3 -- -batch -ex bt\n"
             "  rdb gdb --server 1234");
  return [options, &app] {
    std::vector<std::string> arguments = app.remaining();
    for (const std::string& word : arguments) {
      if (word == "--") break;
      if (word.starts_with("--"))
        user_error("gdb: unknown option '{}'; 'rdb help gdb' says what it takes", word);
    }
    std::erase(arguments, "--");
    // Without TRACE, the first of gdb's words took its place.
    if (options->trace.starts_with('-')) {
      arguments.insert(arguments.begin(), options->trace);
      options->trace.clear();
    }
    return run(*options, arguments);
  };
}

} // namespace rdb::cli
