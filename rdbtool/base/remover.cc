// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/remover.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb {
namespace {

constexpr int kMostNames = 100;    // that are tried
constexpr char kNothingLeft = 'n'; // the owner has removed it, or finished it

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// Keeps the socket and standard error: whoever waits for the end of that waits for the removal, too.
int close_all_but(int socket) {
  int kept = fcntl(socket, F_DUPFD, STDERR_FILENO + 1);
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  if (kept > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0u, 0);
  return kept;
}

// Ctrl-C at the terminal, and what else is sent to all processes of a command, is not for this one; other
// signals are blocked.
[[noreturn]] void wait_and_remove(int socket, const std::string& path) {
  setsid();
  prctl(PR_SET_NAME, "rdb-remover");
  int in_use = close_all_but(socket);
  if (chdir("/") != 0) _exit(1);
  char word = 0;
  ssize_t count;
  do
    count = read(in_use, &word, 1);
  while (count < 0 && errno == EINTR);
  if (word != kNothingLeft) remove_quietly(path);
  _exit(0);
}

// The process that removes must not be ended before it has a session of its own.
class AllSignalsBlocked {
public:
  // By the kernel's own call: libc would never block the two signals that it uses itself, and would open them
  // at the end although the recorder had blocked them.
  AllSignalsBlocked() {
    uint64_t all = ~uint64_t{0};
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&all), raw_pointer(&before_), sizeof all);
  }
  ~AllSignalsBlocked() {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&before_), 0, sizeof before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

private:
  uint64_t before_ = 0;
};

std::string with_random_letters(const std::string& prefix) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::string path = prefix;
  for (int i = 0; i < 6; ++i)
    path += kLetters[random() % kLetters.size()];
  return path;
}

} // namespace

std::unique_ptr<Remover> Remover::make(const std::string& prefix,
                                       const std::function<bool(const char* path)>& make) {
  int error = EEXIST;
  for (int i = 0; i < kMostNames && error == EEXIST; ++i) {
    std::unique_ptr<Remover> remover(new Remover(with_random_letters(prefix)));
    if (make(remover->path_.c_str())) return remover;
    error = errno;
  }
  errno = error;
  return nullptr;
}

Remover::Remover(std::string path) : path_(std::move(path)) {
  AllSignalsBlocked blocked;
  std::string absolute = std::filesystem::absolute(path_);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) process_ = fork();
  if (process_ == 0) {
    close(ends[1]);
    wait_and_remove(ends[0], absolute);
  }
  int error = errno;
  close(ends[0]);
  in_use_ = ends[1];
  if (process_ > 0) return;
  close(in_use_);
  user_error("no process that removes temporary files can be started: {}", std::strerror(error));
}

Remover::~Remover() {
  send(in_use_, &kNothingLeft, 1, MSG_NOSIGNAL);
  close(in_use_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace rdb
