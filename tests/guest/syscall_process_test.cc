// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that ask about the process, its limits, its clocks and the machine, and calls of System V and POSIX
// interprocess communication.
#include "tests/guest/syscall_twin_run.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace rdb::test {
namespace {

TEST(SyscallProcess, Identity) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* name = guest.take<utsname>();
    EXPECT_EQ(run.call(SYS_uname, name), 0);
    run.expect_write(name, sizeof *name);
    EXPECT_EQ(run.call(SYS_uname, guest.edge(64)), -EFAULT);
    auto* ids = guest.take<uid_t>(3);
    EXPECT_EQ(run.call(SYS_getresuid, ids, ids + 1, ids + 2), 0);
    EXPECT_EQ(run.call(SYS_getresgid, ids, ids + 1, ids + 2), 0);
    // The first is written before the second fails.
    ids[0] = 0x5a5a5a5a;
    EXPECT_EQ(run.call(SYS_getresuid, ids, guest.inaccessible(), ids + 2), -EFAULT);
    auto* groups = guest.take<gid_t>(64);
    EXPECT_GE(run.call(SYS_getgroups, 0, groups), 0);
    EXPECT_GE(run.call(SYS_getgroups, 64, groups), 0);
    EXPECT_EQ(run.call(SYS_getgroups, -1, groups), -EINVAL);
    EXPECT_EQ(run.call(SYS_getpid), getpid());
    EXPECT_EQ(run.call(SYS_gettid), gettid());
    EXPECT_EQ(run.call(SYS_getsid, 0), getsid(0));
  });
}

TEST(SyscallProcess, Capabilities) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* header = guest.put(__user_cap_header_struct{_LINUX_CAPABILITY_VERSION_3, 0});
    auto* data = guest.take<__user_cap_data_struct>(2);
    EXPECT_EQ(run.call(SYS_capget, header, data), 0);
    header->version = _LINUX_CAPABILITY_VERSION_1;
    // Version 1 fills half of it: here the other half is out of reach.
    EXPECT_EQ(run.call(SYS_capget, header, guest.edge(12)), 0);
    header->version = 1; // the kernel tells which version it prefers
    EXPECT_EQ(run.call(SYS_capget, header, data), -EINVAL);
    EXPECT_EQ(header->version, unsigned{_LINUX_CAPABILITY_VERSION_3});
    EXPECT_EQ(run.call(SYS_capget, header, nullptr), 0);
    header->version = _LINUX_CAPABILITY_VERSION_3;
    EXPECT_EQ(run.call(SYS_capget, header, data), 0);
    EXPECT_EQ(run.call(SYS_capset, header, data), 0);
    header->version = 1;
    EXPECT_EQ(run.call(SYS_capset, header, data), -EINVAL);
  });
}

TEST(SyscallProcess, LimitsAndUsage) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* limit = guest.take<rlimit>();
    EXPECT_EQ(run.call(SYS_getrlimit, RLIMIT_NOFILE, limit), 0);
    auto* wish = guest.put(*limit);
    EXPECT_EQ(run.call(SYS_prlimit64, 0, RLIMIT_NOFILE, wish, limit), 0);
    EXPECT_EQ(run.call(SYS_prlimit64, 0, RLIMIT_CORE, nullptr, limit), 0);
    EXPECT_EQ(run.call(SYS_prlimit64, 0, 1000, nullptr, limit), -EINVAL);
    auto* usage = guest.take<rusage>();
    EXPECT_EQ(run.changing_call(SYS_getrusage, RUSAGE_SELF, usage), 0);
    run.expect_write(usage, sizeof *usage);
    auto* info = guest.take<struct sysinfo>();
    EXPECT_EQ(run.changing_call(SYS_sysinfo, info), 0);
    run.expect_write(info, sizeof *info);
    auto* ticks = guest.take<tms>();
    EXPECT_GT(run.changing_call(SYS_times, ticks), 0);
    run.expect_write(ticks, sizeof *ticks);
    guest.reset();
    EXPECT_EQ(run.call(SYS_getrusage, 1234, usage), -EINVAL);
  });
}

TEST(SyscallProcess, Scheduling) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* mask = guest.take<unsigned char>(1024);
    int64_t bytes = run.call(SYS_sched_getaffinity, 0, 1024, mask);
    EXPECT_GT(bytes, 0);
    run.expect_write(mask, static_cast<size_t>(bytes));
    EXPECT_EQ(run.call(SYS_sched_getaffinity, 0, 3, mask), -EINVAL);
    auto* parameter = guest.take<sched_param>();
    EXPECT_EQ(run.call(SYS_sched_getparam, 0, parameter), 0);
    char* attributes = guest.take(128);
    EXPECT_EQ(run.call(SYS_sched_getattr, 0, attributes, 48, 0), 0);
    EXPECT_EQ(run.call(SYS_sched_getattr, 0, attributes, 128, 0), 0);
    auto* size = guest.take<uint32_t>(300);
    std::memset(size, 1, 1200);
    size[0] = 1024; // larger than the kernel knows, and not zero: it tells its own size
    EXPECT_EQ(run.call(SYS_sched_setattr, 0, size, 0), -E2BIG);
    auto* interval = guest.take<timespec>();
    EXPECT_EQ(run.changing_call(SYS_sched_rr_get_interval, 0, interval), 0);
    run.forget(interval, sizeof *interval);
    auto* where = guest.take<unsigned>(2);
    EXPECT_EQ(run.changing_call(SYS_getcpu, where, where + 1, nullptr), 0);
    run.forget(where, 8);
    auto* list = guest.take<uint64_t>(2);
    EXPECT_EQ(run.call(SYS_get_robust_list, 0, list, list + 1), 0);
    EXPECT_EQ(run.call(SYS_get_robust_list, 0, list, guest.inaccessible()), -EFAULT);
  });
}

TEST(SyscallProcess, Clocks) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* now = guest.take<timespec>();
    EXPECT_EQ(run.changing_call(SYS_clock_gettime, CLOCK_MONOTONIC, now), 0);
    run.expect_write(now, sizeof *now);
    int64_t seconds = run.changing_call(SYS_time, now);
    EXPECT_EQ(seconds, now->tv_sec);
    run.expect_write(now, 8);
    EXPECT_GE(run.changing_call(SYS_time, nullptr), seconds);
    auto* day = guest.take<timeval>();
    auto* zone = guest.take<struct timezone>();
    EXPECT_EQ(run.changing_call(SYS_gettimeofday, day, zone), 0);
    EXPECT_EQ(run.changing_call(SYS_gettimeofday, day, nullptr), 0);
    run.expect_write(day, sizeof *day);
    auto* adjustment = guest.put(timex{});
    EXPECT_GE(run.changing_call(SYS_adjtimex, adjustment), 0);
    EXPECT_GT(adjustment->tick, 0);
    *adjustment = {};
    EXPECT_GE(run.changing_call(SYS_clock_adjtime, CLOCK_REALTIME, adjustment), 0);
    EXPECT_GT(adjustment->tick, 0);
    guest.reset();
    EXPECT_EQ(run.call(SYS_clock_getres, CLOCK_MONOTONIC, now), 0);
    EXPECT_EQ(run.call(SYS_clock_getres, CLOCK_MONOTONIC, nullptr), 0);
    EXPECT_EQ(run.call(SYS_clock_gettime, 12345, now), -EINVAL);
    // The seconds arrive before the nanoseconds fault.
    EXPECT_EQ(run.changing_call(SYS_clock_gettime, CLOCK_MONOTONIC, guest.edge(8)), -EFAULT);
  });
}

TEST(SyscallProcess, Timers) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* event = guest.take<sigevent>();
    std::memset(event, 0, sizeof *event);
    event->sigev_notify = SIGEV_NONE;
    int* timer = guest.take<int>();
    EXPECT_EQ(run.changing_call(SYS_timer_create, CLOCK_MONOTONIC, event, timer), 0);
    auto* setting = guest.put(itimerspec{{0, 0}, {5000, 0}});
    auto* old = guest.take<itimerspec>();
    EXPECT_EQ(run.changing_call(SYS_timer_settime, *timer, 0, setting, old), 0);
    EXPECT_EQ(old->it_value.tv_sec, 0);
    EXPECT_EQ(run.changing_call(SYS_timer_gettime, *timer, old), 0);
    EXPECT_GT(old->it_value.tv_sec, 0);
    EXPECT_EQ(run.changing_call(SYS_timer_delete, *timer), 0);
    guest.reset();
    auto* interval = guest.take<itimerval>();
    EXPECT_EQ(run.call(SYS_getitimer, ITIMER_VIRTUAL, interval), 0);
    EXPECT_EQ(run.call(SYS_setitimer, ITIMER_VIRTUAL, interval, guest.take<itimerval>()), 0);
  });
}

TEST(SyscallProcess, SignalsAndControl) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* old = guest.take<uint64_t>(4);
    EXPECT_EQ(run.call(SYS_rt_sigaction, SIGUSR2, nullptr, old, 8), 0);
    EXPECT_EQ(run.call(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, old, 8), 0);
    run.expect_write(old, 8);
    EXPECT_EQ(run.call(SYS_sigaltstack, nullptr, guest.take<stack_t>()), 0);
    EXPECT_EQ(run.call(SYS_prctl, PR_SET_NAME, guest.put_string("twin")), 0);
    char* name = guest.take(16);
    EXPECT_EQ(run.call(SYS_prctl, PR_GET_NAME, name), 0);
    EXPECT_STREQ(name, "twin");
    int* value = guest.take<int>();
    EXPECT_EQ(run.call(SYS_prctl, PR_GET_PDEATHSIG, value), 0);
    EXPECT_EQ(run.call(SYS_prctl, PR_GET_CHILD_SUBREAPER, value), 0);
    EXPECT_EQ(run.call(SYS_prctl, PR_GET_DUMPABLE), 1);
    EXPECT_EQ(run.call(SYS_arch_prctl, 0x1003, old), 0);
    auto* sizes = guest.take<uint16_t>(3);
    run.call(SYS_seccomp, 3, 0, sizes); // SECCOMP_GET_NOTIF_SIZES
    char* kernel_log = guest.take(256);
    run.changing_call(SYS_syslog, 3, kernel_log, 256);
    run.forget(kernel_log, 256);
    run.changing_call(SYS_syslog, 10, kernel_log, 256); // asks for a size and writes nothing
    EXPECT_TRUE(run.writes().empty());
  });
}

TEST(SyscallProcess, RandomBytes) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* bytes = guest.take<unsigned char>(4096);
    EXPECT_EQ(run.changing_call(SYS_getrandom, bytes, 4096, 0), 4096);
    run.expect_write(bytes, 4096);
    EXPECT_EQ(run.changing_call(SYS_getrandom, guest.edge(100), 200, 0), 100);
    EXPECT_EQ(run.changing_call(SYS_getrandom, guest.inaccessible(), 200, 0), -EFAULT);
  });
}

TEST(SyscallProcess, MemoryOfAProcess) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    const char* source = guest.put_string("bytes that are read from another place");
    char* target = guest.take(64);
    auto* local = guest.take<iovec>(2);
    local[0] = {target, 5};
    local[1] = {target + 16, 40};
    auto* remote = guest.put(iovec{const_cast<char*>(source), 30});
    EXPECT_EQ(run.call(SYS_process_vm_readv, getpid(), local, 2, remote, 1, 0), 30);
    remote->iov_base = guest.inaccessible();
    EXPECT_EQ(run.call(SYS_process_vm_readv, getpid(), local, 2, remote, 1, 0), -EFAULT);
  });
}

TEST(SyscallProcess, SystemVIpc) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    int semaphores = semget(IPC_PRIVATE, 3, 0600);
    ASSERT_GE(semaphores, 0);
    auto* values = guest.take<unsigned short>(3);
    for (unsigned short i = 0; i < 3; ++i)
      values[i] = static_cast<unsigned short>(i * 300);
    EXPECT_EQ(run.call(SYS_semctl, semaphores, 0, SETALL, values), 0);
    auto* found = static_cast<unsigned short*>(guest.edge(6));
    EXPECT_EQ(run.call(SYS_semctl, semaphores, 0, GETALL, found), 0);
    EXPECT_EQ(found[2], 600);
    EXPECT_EQ(run.call(SYS_semctl, semaphores, 1, GETVAL), 300);
    auto* status = guest.take<semid_ds>();
    EXPECT_EQ(run.changing_call(SYS_semctl, semaphores, 0, IPC_STAT, status), 0);
    run.expect_write(status, sizeof *status);
    EXPECT_EQ(run.changing_call(SYS_semctl, semaphores, 0, IPC_RMID), 0);

    int segment = shmget(IPC_PRIVATE, 4096, 0600);
    ASSERT_GE(segment, 0);
    auto* shared = guest.take<shmid_ds>();
    EXPECT_EQ(run.changing_call(SYS_shmctl, segment, IPC_STAT, shared), 0);
    run.expect_write(shared, sizeof *shared);
    EXPECT_EQ(run.changing_call(SYS_shmctl, segment, IPC_RMID, nullptr), 0);

    int queue = msgget(IPC_PRIVATE, 0600);
    ASSERT_GE(queue, 0);
    struct Message {
      long type;
      char text[16];
    } message{5, "a message"};
    ASSERT_EQ(msgsnd(queue, &message, 10, 0), 0);
    auto* about = guest.take<msqid_ds>();
    EXPECT_EQ(run.changing_call(SYS_msgctl, queue, IPC_STAT, about), 0);
    run.expect_write(about, sizeof *about);
    guest.reset();
    auto* received = guest.take<Message>();
    EXPECT_EQ(run.changing_call(SYS_msgrcv, queue, received, 16, 0, 0), 10);
    EXPECT_EQ(received->type, 5);
    EXPECT_STREQ(received->text, "a message");
    run.call(SYS_getpid);
    EXPECT_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
  });
}

TEST(SyscallProcess, MessageQueues) {
  std::string name = "/rdb-test-" + std::to_string(getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 4;
  attributes.mq_msgsize = 64;
  mqd_t probe = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes);
  if (probe == static_cast<mqd_t>(-1)) GTEST_SKIP() << "no message queues here: errno " << errno;
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    ASSERT_EQ(mq_send(probe, "prior", 5, 9), 0);
    char* text = guest.take(64);
    auto* priority = guest.take<unsigned>();
    auto* state = guest.take<mq_attr>();
    EXPECT_EQ(run.call(SYS_mq_getsetattr, probe, nullptr, state), 0);
    EXPECT_EQ(run.call(SYS_mq_timedreceive, probe, text, 64, priority, nullptr), 5);
    EXPECT_EQ(*priority, 9u);
    EXPECT_EQ(run.call(SYS_mq_timedreceive, probe, text, 4, priority, nullptr), -EMSGSIZE);
  });
  mq_close(probe);
  mq_unlink(name.c_str());
}

TEST(SyscallProcess, MemoryPolicies) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    int* policy = guest.take<int>();
    auto* nodes = guest.take<uint64_t>(16);
    run.call(SYS_get_mempolicy, policy, nodes, 1024, nullptr, 0);
    auto* pages = guest.put<uint64_t>(reinterpret_cast<uint64_t>(policy));
    int* status = guest.take<int>();
    run.call(SYS_move_pages, 0, 1, pages, nullptr, status, 0);
  });
}

TEST(SyscallProcess, NewerCalls) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    // Kernels that lack them say ENOSYS in both runs.
    auto* length = guest.put<uint32_t>(256);
    auto* ids = guest.take<uint64_t>(32);
    run.call(461, ids, length, 0); // lsm_list_modules
    *length = 1;
    run.call(461, ids, length, 0);
    struct Request {
      uint32_t size, spare;
      uint64_t mount, parameter;
    };
    auto* request = guest.put(Request{24, 0, ~uint64_t{0}, 0}); // the root of all mounts
    auto* mounts = guest.take<uint64_t>(64);
    run.call(458, request, mounts, 2, 0); // listmount
    *length = 256;
    run.call(459, 100, ids, length, 0); // lsm_get_self_attr: the current label, where a module has one
    struct statx root;
    ASSERT_EQ(statx(AT_FDCWD, "/", 0, 0x4000, &root), 0); // STATX_MNT_ID_UNIQUE
    request->mount = root.stx_mnt_id;
    request->parameter = 2 | 8 | 16 | 32; // what is mounted where
    char* mount = guest.take(2048);
    run.call(457, request, mount, 2048, 0); // statmount
    run.call(457, request, mount, 16, 0);
    Fd fd(open("/proc/self/exe", O_RDONLY));
    auto* range = guest.put<std::array<uint64_t, 2>>({0, 4096});
    auto* cache = guest.take<uint64_t>(5);
    run.changing_call(451, int(fd), range, cache, 0); // cachestat
    run.forget(cache, 40);
    char* attributes = guest.take(32);
    run.call(468, int(fd), guest.put_string(""), attributes, 24, 0x1000); // file_getattr
  });
}

} // namespace
} // namespace rdb::test
