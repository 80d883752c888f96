// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each call in a process of its own: what a confined process may do, and what ends it.
#include "rdbtool/replay/confinement.h"

#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::replay {
namespace {

constexpr int kUnconfined = 77;

// How a confined process ends that does this: with a signal, or with 0 or 1 as it says.
int status_of(const std::function<bool()>& body, const Confinement& wanted = {}) {
  pid_t child = fork();
  if (child == 0) {
    if (!confine(wanted)) _exit(kUnconfined);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void expect_allowed(const std::function<bool()>& body, const Confinement& wanted = {}) {
  int status = status_of(body, wanted);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

void expect_ended(const std::function<bool()>& body, const Confinement& wanted = {}) {
  int status = status_of(body, wanted);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(Confinement, ReadsFilesAndMakesMemory) {
  expect_allowed([] {
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char byte;
    return fd >= 0 && read(fd, &byte, 1) == 1;
  });
  expect_allowed([] {
    void* memory =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && munmap(memory, 4096) == 0;
  });
  expect_allowed([] { return memfd_create("x", MFD_CLOEXEC) >= 0; });
  expect_allowed([] {
    int ends[2];
    return pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "x", 1) == 1;
  });
}

TEST(Confinement, EndsAsAnyProgramEnds) {
  EXPECT_EQ(WTERMSIG(status_of([] { return raise(SIGTERM) == 0; })), SIGTERM);
  EXPECT_EQ(WTERMSIG(status_of([]() -> bool { abort(); })), SIGABRT);
}

TEST(Confinement, ChangesNoFiles) {
  expect_ended([] { return open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0; });
  expect_ended([] { return open("/dev/null", O_RDWR | O_CLOEXEC) >= 0; });
  expect_ended([] { return open("/tmp", O_TMPFILE | O_CLOEXEC, 0600) >= 0; });
  expect_ended([] { return open("/nonexistent/x", O_RDONLY | O_CREAT | O_CLOEXEC, 0600) >= 0; });
  expect_ended([] { return open("/nonexistent/x", O_RDONLY | O_TRUNC | O_CLOEXEC) >= 0; });
  expect_ended([] { return syscall(SYS_open, "/dev/null", O_WRONLY) >= 0; });
  expect_ended([] { return syscall(SYS_creat, "/nonexistent/x", 0600) >= 0; });
  expect_ended([] { return unlink("/nonexistent/x") == 0; });
  expect_ended([] { return rename("/nonexistent/x", "/nonexistent/y") == 0; });
  expect_ended([] { return truncate("/nonexistent/x", 0) == 0; });
  expect_ended([] { return syscall(SYS_openat2, AT_FDCWD, "/dev/null", nullptr, 0) >= 0; });
}

TEST(Confinement, ReachesNoOtherProcess) {
  expect_ended([] { return kill(getppid(), 0) == 0; });
  expect_ended([] { return syscall(SYS_tgkill, getppid(), getppid(), 0) == 0; });
  expect_ended([] { return execl("/bin/true", "true", nullptr) == 0; });
  expect_ended([] { return fork() >= 0; });
  expect_ended([] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0; });
  expect_ended([] { return syscall(SYS_ptrace, 0, 0, 0, 0) == 0; });
  expect_ended([] { return ioctl(0, TIOCSTI, "x") == 0; });
  expect_ended([] { return fcntl(0, F_SETOWN, getppid()) == 0; });
  expect_ended([] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0; });
  // The system calls of 32-bit programs have other numbers: this would be getpid.
  int status = status_of([] {
    long result = 20;
    asm volatile("int $0x80" : "+a"(result) : : "memory");
    return result > 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Confinement, ForksOnlyIfThatIsWanted) {
  expect_allowed(
      [] {
        pid_t child = fork();
        if (child == 0) _exit(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? 1 : 2);
        int status = 0;
        return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
               WTERMSIG(status) == SIGSYS;
      },
      {.forks = true});
}

} // namespace
} // namespace rdb::replay
