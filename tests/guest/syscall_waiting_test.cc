// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that wait: poll, select, epoll, sleeping, children, and the descriptors that stand for events.
#include "tests/guest/syscall_twin_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::test {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    in.emplace(ends[0]);
    out.emplace(ends[1]);
  }
  void put(const char* text) {
    EXPECT_EQ(write(*out, text, strlen(text)), static_cast<ssize_t>(strlen(text)));
  }
  std::optional<Fd> in, out;
};

TEST(SyscallWaiting, Poll) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pipe quiet, full;
    full.put("x");
    auto* fds = guest.take<pollfd>(3);
    fds[0] = {*quiet.in, POLLIN, 0x55};
    fds[1] = {*full.in, POLLIN, 0x55};
    fds[2] = {-1, POLLIN, 0x55};
    EXPECT_EQ(run.call(SYS_poll, fds, 3, 0), 1);
    EXPECT_EQ(run.call(SYS_poll, fds, 1, 0), 0);
    EXPECT_EQ(run.call(SYS_poll, fds, 0, 0), 0);
    EXPECT_EQ(run.call(SYS_poll, guest.edge(12), 2, 0), -EFAULT);
    EXPECT_EQ(run.call(SYS_poll, guest.inaccessible(), 2, 0), -EFAULT);
    auto* timeout = guest.put(timespec{0, 0});
    auto* mask = guest.put<uint64_t>(0);
    EXPECT_EQ(run.call(SYS_ppoll, fds, 3, timeout, mask, 8), 1);
    EXPECT_EQ(run.call(SYS_ppoll, fds, 3, timeout, mask, 4), -EINVAL);
    *timeout = {100, 0};
    EXPECT_EQ(run.changing_call(SYS_ppoll, fds, 3, timeout, nullptr, 0), 1);
    EXPECT_LT(timeout->tv_sec, 100); // the rest of it is told
    run.forget(timeout, sizeof *timeout);
    // A timeout in memory that cannot be written is no error.
    timespec constant{100, 0};
    guest.set_read_only(&constant, sizeof constant);
    EXPECT_EQ(run.call(SYS_ppoll, fds, 3, guest.read_only(), nullptr, 0), 1);
  });
}

TEST(SyscallWaiting, Select) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pipe quiet, full;
    full.put("x");
    auto* in = guest.take<fd_set>();
    auto* out = guest.take<fd_set>();
    auto fill = [&] {
      FD_ZERO(in);
      FD_ZERO(out);
      FD_SET(*quiet.in, in);
      FD_SET(*full.in, in);
      FD_SET(*full.out, out);
    };
    fill();
    EXPECT_EQ(run.call(SYS_select, 64, in, out, nullptr, guest.put(timeval{0, 0})), 2);
    fill();
    EXPECT_EQ(run.call(SYS_select, FD_SETSIZE, in, out, out, guest.put(timeval{0, 0})), 2);
    fill();
    EXPECT_EQ(run.call(SYS_select, -1, in, out, nullptr, guest.put(timeval{0, 0})), -EINVAL);
    fill();
    // More bits than the set has: the kernel looks at those that descriptors can have.
    auto* at_edge = static_cast<fd_set*>(guest.edge(sizeof(fd_set)));
    *at_edge = *in;
    EXPECT_EQ(run.call(SYS_select, 0x7fffffff, at_edge, nullptr, nullptr, guest.put(timeval{0, 0})), 1);
    EXPECT_EQ(run.call(SYS_select, 64, guest.inaccessible(), nullptr, nullptr, guest.put(timeval{0, 0})),
              -EFAULT);
    fill();
    uint64_t* mask = guest.put<uint64_t>(0);
    struct Mask {
      void* set;
      size_t size;
    };
    auto* with_mask = guest.put(Mask{mask, 8});
    EXPECT_EQ(run.call(SYS_pselect6, 64, in, out, nullptr, guest.put(timespec{0, 0}), with_mask), 2);
  });
}

TEST(SyscallWaiting, Epoll) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pipe first, second;
    first.put("1");
    second.put("2");
    Fd epoll(epoll_create1(0));
    auto* event = guest.put(epoll_event{EPOLLIN, {.u64 = 0x1111222233334444}});
    EXPECT_EQ(run.call(SYS_epoll_ctl, int(epoll), EPOLL_CTL_ADD, int(*first.in), event), 0);
    EXPECT_EQ(run.call(SYS_epoll_ctl, int(epoll), EPOLL_CTL_ADD, int(*second.in), event), 0);
    auto* events = guest.take<epoll_event>(8);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), events, 8, 0), 2);
    run.expect_write(events, 24);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), events, 1, 0), 1);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), events, 0, 0), -EINVAL);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), events, -1, 0), -EINVAL);
    EXPECT_EQ(run.call(SYS_epoll_pwait, int(epoll), events, 8, 0, guest.put<uint64_t>(0), 8), 2);
    EXPECT_EQ(run.call(SYS_epoll_pwait2, int(epoll), events, 8, guest.put(timespec{0, 0}), nullptr, 8), 2);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), guest.edge(12), 8, 0), 1);
    EXPECT_EQ(run.call(SYS_epoll_wait, int(epoll), guest.inaccessible(), 8, 0), -EFAULT);
  });
}

TEST(SyscallWaiting, EventDescriptors) {
  TempDir dir;
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    char* buffer = guest.take(1024);
    Fd event(eventfd(41, EFD_NONBLOCK));
    EXPECT_EQ(run.call(SYS_read, int(event), buffer, 8), 8);
    EXPECT_EQ(run.call(SYS_read, int(event), buffer, 8), -EAGAIN);
    EXPECT_EQ(run.call(SYS_read, int(event), buffer, 4), -EINVAL);

    Fd timer(timerfd_create(CLOCK_MONOTONIC, 0));
    auto* setting = guest.put(itimerspec{{0, 0}, {0, 1}});
    auto* old = guest.take<itimerspec>();
    EXPECT_EQ(run.call(SYS_timerfd_settime, int(timer), 0, setting, old), 0);
    EXPECT_EQ(run.call(SYS_read, int(timer), buffer, 8), 8);
    EXPECT_EQ(run.call(SYS_timerfd_gettime, int(timer), old), 0);
    EXPECT_EQ(run.call(SYS_timerfd_gettime, int(timer), guest.edge(20)), -EFAULT);

    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigset_t saved;
    sigprocmask(SIG_BLOCK, &usr1, &saved);
    Fd signals(signalfd(-1, &usr1, 0));
    sigval value{.sival_int = 77};
    ASSERT_EQ(sigqueue(getpid(), SIGUSR1, value), 0);
    EXPECT_EQ(run.call(SYS_read, int(signals), buffer, 1024), int(sizeof(signalfd_siginfo)));
    // The same signal again, waited for.
    ASSERT_EQ(sigqueue(getpid(), SIGUSR1, value), 0);
    auto* set = guest.put<uint64_t>(uint64_t{1} << (SIGUSR1 - 1));
    auto* pending = guest.take<uint64_t>();
    EXPECT_EQ(run.call(SYS_rt_sigpending, pending, 8), 0);
    auto* info = guest.take<siginfo_t>();
    EXPECT_EQ(run.call(SYS_rt_sigtimedwait, set, info, nullptr, 8), SIGUSR1);
    EXPECT_EQ(info->si_value.sival_int, 77);
    EXPECT_EQ(run.call(SYS_rt_sigtimedwait, set, info, guest.put(timespec{0, 0}), 8), -EAGAIN);
    sigprocmask(SIG_SETMASK, &saved, nullptr);

    Fd notify(inotify_init1(IN_NONBLOCK));
    ASSERT_EQ(inotify_add_watch(notify, dir.path().c_str(), IN_CREATE | IN_DELETE), 1);
    dir.write_file("seen", "");
    ASSERT_EQ(unlink(dir.path("seen").c_str()), 0);
    EXPECT_EQ(run.call(SYS_read, int(notify), buffer, 1024), 64);
    EXPECT_EQ(run.call(SYS_read, int(notify), buffer, 1024), -EAGAIN);
  });
}

TEST(SyscallWaiting, Sleeping) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* wish = guest.put(timespec{0, 1000});
    auto* rest = guest.take<timespec>();
    EXPECT_EQ(run.call(SYS_nanosleep, wish, rest), 0);
    EXPECT_EQ(run.call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, wish, rest), 0);
    wish->tv_nsec = -1;
    EXPECT_EQ(run.call(SYS_nanosleep, wish, rest), -EINVAL);
    EXPECT_EQ(run.call(SYS_nanosleep, guest.inaccessible(), rest), -EFAULT);
  });
}

TEST(SyscallWaiting, AnInterruptedSleepTellsTheRest) {
  struct sigaction action{}, old{};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, &old);
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* sleep = guest.put(timespec{1000, 0});
    // The timer repeats: if the first signal comes before the sleep, the second ends it.
    itimerval soon{{0, 2000}, {0, 2000}}, off{};
    setitimer(ITIMER_REAL, &soon, nullptr);
    EXPECT_EQ(run.changing_call(SYS_nanosleep, sleep, sleep), -EINTR);
    setitimer(ITIMER_REAL, &off, nullptr);
    EXPECT_LT(sleep->tv_sec, 1000);
    EXPECT_GT(sleep->tv_sec, 0);
  });
  sigaction(SIGALRM, &old, nullptr);
}

pid_t child_that_exits(int status) {
  pid_t pid = fork();
  if (pid == 0) _exit(status);
  return pid;
}

TEST(SyscallWaiting, Children) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    int* status = guest.put<int>(-1);
    auto* usage = guest.take<rusage>();
    pid_t pid = child_that_exits(7);
    EXPECT_EQ(run.changing_call(SYS_wait4, pid, status, 0, usage), pid);
    EXPECT_EQ(WEXITSTATUS(*status), 7);
    EXPECT_GE(usage->ru_maxrss, 0);
    run.forget(usage, sizeof *usage);

    auto* info = guest.take<siginfo_t>();
    pid = child_that_exits(3);
    EXPECT_EQ(run.changing_call(SYS_waitid, P_PID, pid, info, WEXITED | WNOWAIT, usage), 0);
    EXPECT_EQ(info->si_pid, pid);
    EXPECT_EQ(info->si_status, 3);
    run.forget(info, sizeof *info);
    run.forget(usage, sizeof *usage);
    EXPECT_EQ(run.changing_call(SYS_waitid, P_PID, pid, nullptr, WEXITED, nullptr), 0);

    // No child: wait4 writes nothing, waitid clears what it would have told.
    *status = -1;
    EXPECT_EQ(run.call(SYS_wait4, -1, status, WNOHANG, usage), -ECHILD);
    EXPECT_EQ(run.call(SYS_waitid, P_ALL, 0, info, WEXITED, usage), -ECHILD);
  });
}

TEST(SyscallWaiting, ARunningChildLeavesTheStatusAlone) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pipe hold;
    pid_t pid = fork();
    if (pid == 0) {
      char byte;
      hold.out->reset();
      _exit(read(*hold.in, &byte, 1) == 0 ? 0 : 1);
    }
    int* status = guest.put<int>(-1);
    auto* usage = guest.take<rusage>();
    EXPECT_EQ(run.call(SYS_wait4, pid, status, WNOHANG, usage), 0);
    auto* info = guest.take<siginfo_t>();
    EXPECT_EQ(run.call(SYS_waitid, P_PID, pid, info, WEXITED | WNOHANG, usage), 0);
    hold.out->reset();
    waitpid(pid, nullptr, 0);
  });
}

} // namespace
} // namespace rdb::test
