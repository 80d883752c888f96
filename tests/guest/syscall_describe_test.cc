// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls as lines of text, for good pointers and for bad ones.
#include "rdbtool/syscalls/describe.h"
#include "tests/guest/syscall_twin_run.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace rdb::test {
namespace {

class SyscallDescribe : public ::testing::Test {
protected:
  template <class... Args>
  std::string line(long number, std::optional<int64_t> result, Args... args) {
    return describe_call(static_cast<uint64_t>(number), {word(args)...}, result, guest_);
  }
  template <class T>
  static uint64_t word(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<uint64_t>(value);
    } else {
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    }
  }

  TwinGuest guest_;
};

TEST_F(SyscallDescribe, TextThatIsReadAndWritten) {
  const char* text = guest_.put_string("hello\n\"quoted\"\x01"
                                       "2 and more of it that is too long");
  EXPECT_EQ(line(SYS_read, 5, 3, text, 4096), R"(read(3, "hello", 4096) = 5)");
  EXPECT_EQ(line(SYS_write, 17, 1, text, 17), R"(write(1, "hello\n\"quoted\"\0012 ", 17) = 17)");
  // Cut after 32 bytes.
  EXPECT_EQ(line(SYS_write, 40, 1, text, 40),
            R"(write(1, "hello\n\"quoted\"\0012 and more of it "..., 40) = 40)");
  EXPECT_EQ(line(SYS_read, 0, 3, text, 10), R"(read(3, "", 10) = 0)");
}

TEST_F(SyscallDescribe, CallsThatHaveNotReturned) {
  char* buffer = guest_.take(16);
  EXPECT_EQ(line(SYS_read, std::nullopt, 3, buffer, 16), fmt::format("read(3, {}, 16)", fmt::ptr(buffer)));
}

TEST_F(SyscallDescribe, Errors) {
  const char* path = guest_.put_string("/no/such");
  EXPECT_EQ(line(SYS_openat, -ENOENT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0),
            "openat(AT_FDCWD, \"/no/such\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)");
  EXPECT_EQ(line(SYS_open, 3, path, O_RDWR | O_CREAT | O_TRUNC, 0644),
            "open(\"/no/such\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3");
  EXPECT_EQ(line(SYS_getpid, 42), "getpid() = 42");
}

TEST_F(SyscallDescribe, BadPointersAreShownAsAddresses) {
  EXPECT_EQ(line(SYS_write, -EFAULT, 1, 0x10, 5), "write(1, 0x10, 5) = -1 EFAULT (Bad address)");
  EXPECT_EQ(line(SYS_write, -EFAULT, 1, 0, 5), "write(1, NULL, 5) = -1 EFAULT (Bad address)");
  auto* edge = guest_.edge(3);
  EXPECT_EQ(line(SYS_chdir, -EFAULT, edge),
            fmt::format("chdir({}) = -1 EFAULT (Bad address)", fmt::ptr(edge)));
}

TEST_F(SyscallDescribe, Mappings) {
  EXPECT_EQ(
      line(SYS_mmap, 0x7f0000001000, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0x0) = 0x7f0000001000");
  EXPECT_EQ(line(SYS_mprotect, 0, 0x1000, 4096, PROT_NONE), "mprotect(0x1000, 4096, PROT_NONE) = 0");
  EXPECT_EQ(line(SYS_madvise, 0, 0x1000, 4096, MADV_DONTNEED), "madvise(0x1000, 4096, MADV_DONTNEED) = 0");
}

TEST_F(SyscallDescribe, Structures) {
  auto* fds = guest_.take<pollfd>(2);
  fds[0] = {3, POLLIN, POLLIN | POLLHUP};
  fds[1] = {4, POLLOUT, 0};
  EXPECT_EQ(line(SYS_poll, 1, fds, 2, -1),
            "poll([{fd=3, events=POLLIN, revents=POLLIN|POLLHUP}, {fd=4, events=POLLOUT}], 2, -1) = 1");
  auto* ends = guest_.put<std::array<int, 2>>({5, 6});
  EXPECT_EQ(line(SYS_pipe2, 0, ends, O_CLOEXEC), "pipe2([5, 6], O_RDONLY|O_CLOEXEC) = 0");
  auto* time = guest_.put(timespec{1, 500});
  EXPECT_EQ(line(SYS_nanosleep, 0, time, 0), "nanosleep({tv_sec=1, tv_nsec=500}, NULL) = 0");
  auto* status = guest_.put<int>(7 << 8);
  EXPECT_EQ(line(SYS_wait4, 100, -1, status, WNOHANG, 0), "wait4(-1, [{exited 7}], WNOHANG, NULL) = 100");
  auto* set = guest_.put<uint64_t>(1 << (SIGINT - 1) | 1 << (SIGTERM - 1));
  EXPECT_EQ(line(SYS_rt_sigprocmask, 0, SIG_BLOCK, set, 0, 8),
            "rt_sigprocmask(SIG_BLOCK, [INT TERM], NULL, 8) = 0");
  struct stat file{};
  file.st_mode = S_IFREG | 0644;
  file.st_size = 1234;
  EXPECT_EQ(line(SYS_fstat, 0, 3, guest_.put(file)), "fstat(3, {mode=S_IFREG|0644, size=1234}) = 0");
  EXPECT_EQ(line(SYS_kill, 0, 12, SIGUSR1), "kill(12, SIGUSR1) = 0");
}

TEST_F(SyscallDescribe, Sockets) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(80);
  name.sin_addr.s_addr = htonl(0x7f000001);
  EXPECT_EQ(line(SYS_connect, 0, 3, guest_.put(name), sizeof name),
            "connect(3, {AF_INET, 127.0.0.1:80}, 16) = 0");
  EXPECT_EQ(line(SYS_socket, 3, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
            "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3");
  const char* text = guest_.put_string("abcdefgh");
  auto* vectors = guest_.take<iovec>(2);
  vectors[0] = {const_cast<char*>(text), 3};
  vectors[1] = {const_cast<char*>(text) + 3, 5};
  EXPECT_EQ(line(SYS_writev, 8, 3, vectors, 2), R"(writev(3, [{"abc", 3}, {"defgh", 5}], 2) = 8)");
  EXPECT_EQ(line(SYS_readv, 4, 3, vectors, 2), R"(readv(3, [{"abc", 3}, {"d", 5}], 2) = 4)");
  auto* message = guest_.put(msghdr{.msg_iov = vectors, .msg_iovlen = 2});
  EXPECT_EQ(line(SYS_recvmsg, 3, 3, message, MSG_DONTWAIT),
            R"(recvmsg(3, {iov=[{"abc", 3}, {"", 5}]}, MSG_DONTWAIT) = 3)");
}

TEST_F(SyscallDescribe, Variants) {
  EXPECT_EQ(line(SYS_fcntl, 2, 3, F_GETFL, 0), "fcntl(3, F_GETFL) = 2");
  EXPECT_EQ(line(SYS_fcntl, 0, 3, F_SETFL, O_RDWR | O_NONBLOCK), "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
  auto* bytes = guest_.put<int>(7);
  EXPECT_EQ(line(SYS_ioctl, 0, 3, FIONREAD, bytes), "ioctl(3, FIONREAD, [7]) = 0");
  EXPECT_EQ(line(SYS_ioctl, -ENOTTY, 3, 0x1234, 0),
            "ioctl(3, 0x1234, 0x0) = -1 ENOTTY (Inappropriate ioctl for device)");
}

TEST_F(SyscallDescribe, Programs) {
  const char* path = guest_.put_string("/bin/ls");
  const char* flag = guest_.put_string("-l");
  auto* arguments = guest_.put<std::array<const char*, 3>>({path, flag, nullptr});
  EXPECT_EQ(line(SYS_execve, std::nullopt, path, arguments, 0),
            R"(execve("/bin/ls", ["/bin/ls", "-l"], NULL))");
}

TEST_F(SyscallDescribe, UnknownNumbers) {
  EXPECT_EQ(line(500, -ENOSYS, 1),
            "syscall_500(0x1, 0x0, 0x0, 0x0, 0x0, 0x0) = -1 ENOSYS (Function not implemented)");
}

// Any call with any arguments gives a line and touches nothing that the guest does not have.
TEST_F(SyscallDescribe, SurvivesArbitraryArguments) {
  uint64_t state = 1;
  auto random = [&] { return state = state * 6364136223846793005 + 1442695040888963407; };
  auto argument = [&]() -> uint64_t {
    uint64_t start = guest_.start().value;
    switch (random() >> 61) {
    case 0:
      return random();
    case 1:
      return start + (random() >> 32) % TwinGuest::kWritable;
    case 2:
      return start + TwinGuest::kWritable - (random() >> 32) % 64;
    case 3:
      return random() >> 56;
    case 4:
      return static_cast<uint64_t>(-1) - (random() >> 60);
    case 5:
      return random() >> 32;
    default:
      return start;
    }
  };
  for (const SyscallInfo& info : syscall_table()) {
    for (int i = 0; i < 50; ++i) {
      SyscallArgs args;
      for (uint64_t& arg : args)
        arg = argument();
      std::string text =
          describe_call(info.number, args, static_cast<int64_t>(random()) >> (random() >> 59), guest_);
      EXPECT_TRUE(text.starts_with(info.name)) << text;
      EXPECT_LT(text.size(), 4000u) << info.name;
    }
  }
}

} // namespace
} // namespace rdb::test
