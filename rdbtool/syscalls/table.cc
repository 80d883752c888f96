// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All x86-64 system calls of Linux 6.18, by number. Columns: number, name, who handles it, may it block, the
// arguments; then what else is known about the call (call_properties.h). Everything may block unless it is
// known not to wait for anything that another thread could do.
#include "rdbtool/syscalls/spec_words.h"
#include "rdbtool/syscalls/variants.h"

#include <poll.h>

namespace rdb {
namespace {

using namespace spec;

constexpr const char* kNotInLinux = "no Linux kernel implements it";
constexpr const char* kAioRings = "asynchronous I/O writes guest memory at unknown times";
constexpr const char* kOtherProcess = "another process's memory would change outside the recording";
constexpr const char* kPkeys = "memory protection keys";
constexpr const char* kKeyring = "kernel keyrings";

constexpr ArgSpec open_flags = flags(NameSet::open_flags);
constexpr ArgSpec at_flags = flags(NameSet::at_flags);
constexpr ArgSpec msg_flags = flags(NameSet::message_flags);
constexpr ArgSpec prot = flags(NameSet::protection);
constexpr ArgSpec clock_id = choice(NameSet::clock_id);
constexpr ArgSpec wait_options = flags(NameSet::wait_options);
constexpr ArgSpec pid = i32;
constexpr ArgSpec rusage_size = out(144);
constexpr ArgSpec itimerspec_in = in(32);
constexpr ArgSpec itimerspec_out = out(32);

// clang-format off
constexpr SyscallInfo kTable[] = {
  call(  0, "read",                    emulated, may,   fd, out_text(2), size) |
      fast(always) | reads(buffer) | waits_for(POLLIN) | keeps_descriptors,
  call(  1, "write",                   emulated, may,   fd, in_text(2), size) |
      fast(always) | writes(buffer) | waits_for(POLLOUT) | at_position(FilePosition::own),
  call(  2, "open",                    emulated, may,   str, open_flags, mode) |
      opens,
  call(  3, "close",                   emulated, may,   fd) |
      moves_descriptors,
  call(  4, "stat",                    emulated, may,   str, stat_out) |
      looks_up,
  call(  5, "fstat",                   emulated, never, fd, stat_out) |
      fast(always) | keeps_descriptors,
  call(  6, "lstat",                   emulated, may,   str, stat_out) |
      looks_up,
  call(  7, "poll",                    emulated, may,   update_array(1, 8, Shape::pollfds), u32, i32) |
      fast(unrecorded) | timeout(2, TimeUnit::milliseconds) | keeps_descriptors,
  call(  8, "lseek",                   emulated, never, fd, off, choice(NameSet::seek_whence)) |
      fast(always) | keeps_descriptors,
  call(  9, "mmap",                    memory,   never, addr, size, prot, flags(NameSet::map_flags), fd, hex) |
      mapping(MappingChange::map),
  call( 10, "mprotect",                memory,   never, addr, size, prot) |
      mapping(MappingChange::protect),
  call( 11, "munmap",                  memory,   never, addr, size) |
      mapping(MappingChange::unmap),
  call( 12, "brk",                     memory,   never, addr) |
      mapping(MappingChange::set_break),
  call( 13, "rt_sigaction",            signal,   never, sig, in(32), out(32), size) |
      internal | keeps_descriptors,
  call( 14, "rt_sigprocmask",          signal,   never, choice(NameSet::signal_how), sigset_in, sigset_out, size) |
      internal | keeps_descriptors,
  call( 15, "rt_sigreturn",            signal,   never) |
      keeps_descriptors,
  varied(16, "ioctl",                  emulated, may,   kIoctlRequests, fd, hex, by_variant) |
      changes_file(0),
  call( 17, "pread64",                 emulated, may,   fd, out_text(2), size, off) |
      fast(always) | reads(buffer) | keeps_descriptors,
  call( 18, "pwrite64",                emulated, may,   fd, in_text(2), size, off) |
      fast(always) | writes(buffer) | at_position(FilePosition::in_argument),
  call( 19, "readv",                   emulated, may,   fd, iov_out(2), size) |
      reads(vectors) | waits_for(POLLIN) | keeps_descriptors,
  call( 20, "writev",                  emulated, may,   fd, iov_in(2), size) |
      fast(unrecorded) | writes(vectors) | waits_for(POLLOUT) | at_position(FilePosition::own),
  call( 21, "access",                  emulated, may,   str, flags(NameSet::access_mode)) |
      looks_up,
  call( 22, "pipe",                    emulated, never, out(8, Shape::words32)),
  call( 23, "select",                  emulated, may,   i32, update_bits(0), update_bits(0), update_bits(0), timeval_update) |
      timeout(4, TimeUnit::timeval),
  call( 24, "sched_yield",             thread,   may),
  call( 25, "mremap",                  memory,   never, addr, size, size, hex, addr) |
      mapping(MappingChange::move),
  call( 26, "msync",                   emulated, may,   addr, size, hex) |
      writes_to_disk,
  call( 27, "mincore",                 emulated, never, addr, size, update_pages(1)),
  call( 28, "madvise",                 memory,   never, addr, size, choice(NameSet::madvise)) |
      mapping(MappingChange::advise),
  call( 29, "shmget",                  emulated, never, hex, size, hex),
  call( 30, "shmat",                   memory,   never, i32, addr, hex) |
      mapping(MappingChange::attach),
  varied(31, "shmctl",                 emulated, never, kSharedMemoryCommands, i32, i32, by_variant),
  call( 32, "dup",                     emulated, never, fd),
  call( 33, "dup2",                    emulated, may,   fd, fd) |
      moves_descriptors,
  call( 34, "pause",                   signal,   may),
  call( 35, "nanosleep",               emulated, may,   timespec_in, timespec_update),
  call( 36, "getitimer",               emulated, never, i32, out(32)),
  call( 37, "alarm",                   emulated, never, u32),
  call( 38, "setitimer",               emulated, never, i32, in(32), out(32)),
  call( 39, "getpid",                  emulated, never) |
      fast(replay_only),
  call( 40, "sendfile",                emulated, may,   fd, fd, offset, size) |
      output_to(0) | at_position(FilePosition::own),
  call( 41, "socket",                  emulated, never, choice(NameSet::socket_domain), flags(NameSet::socket_type), i32),
  call( 42, "connect",                 emulated, may,   fd, in_name(2), u32),
  call( 43, "accept",                  emulated, may,   fd, sockname(2), length) |
      waits_for(POLLIN),
  call( 44, "sendto",                  emulated, may,   fd, in_text(2), size, msg_flags, in_name(5), u32) |
      fast(unrecorded) | writes(buffer) | waits_for(POLLOUT),
  call( 45, "recvfrom",                emulated, may,   fd, out_text(2), size, msg_flags, sockname(5), length) |
      fast(unrecorded) | waits_for(POLLIN),
  call( 46, "sendmsg",                 emulated, may,   fd, msg_in, msg_flags) |
      writes(message) | waits_for(POLLOUT),
  call( 47, "recvmsg",                 emulated, may,   fd, msg, msg_flags) |
      waits_for(POLLIN),
  call( 48, "shutdown",                emulated, never, fd, i32),
  call( 49, "bind",                    emulated, may,   fd, in_name(2), u32),
  call( 50, "listen",                  emulated, never, fd, i32),
  call( 51, "getsockname",             emulated, never, fd, sockname(2), length),
  call( 52, "getpeername",             emulated, never, fd, sockname(2), length),
  call( 53, "socketpair",              emulated, never, choice(NameSet::socket_domain), flags(NameSet::socket_type), i32, out(8, Shape::words32)),
  varied(54, "setsockopt",             emulated, may,   kSetSocketOptions, fd, choice(NameSet::socket_level), i32, in_bytes(4), u32),
  varied(55, "getsockopt",             emulated, never, kGetSocketOptions, fd, choice(NameSet::socket_level), i32, update_by_length(4), length),
  call( 56, "clone",                   thread,   may,   flags(NameSet::clone_flags), addr, update(4, Shape::words32), update(4, Shape::words32), addr),
  call( 57, "fork",                    process,  may),
  call( 58, "vfork",                   process,  may),
  call( 59, "execve",                  process,  may,   str, strings, strings),
  call( 60, "exit",                    thread,   may,   i32),
  call( 61, "wait4",                   emulated, may,   pid, out_if_positive(4, Shape::wait_status), wait_options, out_if_positive(144)),
  call( 62, "kill",                    signal,   never, pid, sig) |
      sends_signal,
  call( 63, "uname",                   emulated, never, out(390)),
  call( 64, "semget",                  emulated, never, hex, i32, hex),
  call( 65, "semop",                   emulated, may,   i32, in_array(2, 6), u32),
  varied(66, "semctl",                 emulated, never, kSemaphoreCommands, i32, i32, i32, by_variant),
  call( 67, "shmdt",                   memory,   never, addr) |
      mapping(MappingChange::detach),
  call( 68, "msgget",                  emulated, never, hex, hex),
  call( 69, "msgsnd",                  emulated, may,   i32, addr, size, hex),
  call( 70, "msgrcv",                  emulated, may,   i32, update_message(2), size, off, hex),
  varied(71, "msgctl",                 emulated, never, kMessageCommands, i32, i32, by_variant),
  varied(72, "fcntl",                  emulated, never, kFcntlCommands, fd, i32, by_variant),
  call( 73, "flock",                   emulated, may,   fd, i32),
  call( 74, "fsync",                   emulated, may,   fd) |
      writes_to_disk,
  call( 75, "fdatasync",               emulated, may,   fd) |
      writes_to_disk,
  call( 76, "truncate",                emulated, may,   str, off) |
      truncates,
  call( 77, "ftruncate",               emulated, may,   fd, off) |
      truncates | changes_file(0),
  call( 78, "getdents",                emulated, may,   fd, out_records(2), u32),
  call( 79, "getcwd",                  emulated, never, out_text(1), size),
  call( 80, "chdir",                   emulated, may,   str),
  call( 81, "fchdir",                  emulated, never, fd),
  call( 82, "rename",                  emulated, may,   str, str),
  call( 83, "mkdir",                   emulated, may,   str, mode),
  call( 84, "rmdir",                   emulated, may,   str),
  call( 85, "creat",                   emulated, may,   str, mode) |
      opens,
  call( 86, "link",                    emulated, may,   str, str),
  call( 87, "unlink",                  emulated, may,   str),
  call( 88, "symlink",                 emulated, may,   str, str),
  call( 89, "readlink",                emulated, may,   str, out_text(2), i32) |
      looks_up,
  call( 90, "chmod",                   emulated, may,   str, mode),
  call( 91, "fchmod",                  emulated, may,   fd, mode),
  call( 92, "chown",                   emulated, may,   str, i32, i32),
  call( 93, "fchown",                  emulated, may,   fd, i32, i32),
  call( 94, "lchown",                  emulated, may,   str, i32, i32),
  call( 95, "umask",                   emulated, never, mode),
  call( 96, "gettimeofday",            emulated, never, timeval_out, out(8)) |
      fast(unrecorded) | keeps_descriptors,
  call( 97, "getrlimit",               process,  never, choice(NameSet::resource), out(16, Shape::words64)),
  call( 98, "getrusage",               emulated, never, i32, rusage_size),
  call( 99, "sysinfo",                 emulated, never, out(112)),
  call(100, "times",                   emulated, never, out(32)),
  refused(101, "ptrace", EPERM, "tracing other processes"),
  call(102, "getuid",                  emulated, never) |
      fast(unrecorded),
  varied(103, "syslog",                emulated, may,   kSyslogActions, i32, by_variant, i32),
  call(104, "getgid",                  emulated, never),
  call(105, "setuid",                  emulated, never, i32),
  call(106, "setgid",                  emulated, never, i32),
  call(107, "geteuid",                 emulated, never) |
      fast(unrecorded),
  call(108, "getegid",                 emulated, never),
  call(109, "setpgid",                 emulated, never, pid, pid),
  call(110, "getppid",                 emulated, never),
  call(111, "getpgrp",                 emulated, never),
  call(112, "setsid",                  emulated, never),
  call(113, "setreuid",                emulated, never, i32, i32),
  call(114, "setregid",                emulated, never, i32, i32),
  call(115, "getgroups",               emulated, never, i32, out_array(0, 4, Shape::words32)),
  call(116, "setgroups",               emulated, never, i32, in_array(0, 4, Shape::words32)),
  call(117, "setresuid",               emulated, never, i32, i32, i32),
  call(118, "getresuid",               emulated, never, out(4, Shape::words32), out(4, Shape::words32), out(4, Shape::words32)),
  call(119, "setresgid",               emulated, never, i32, i32, i32),
  call(120, "getresgid",               emulated, never, out(4, Shape::words32), out(4, Shape::words32), out(4, Shape::words32)),
  call(121, "getpgid",                 emulated, never, pid),
  call(122, "setfsuid",                emulated, never, i32),
  call(123, "setfsgid",                emulated, never, i32),
  call(124, "getsid",                  emulated, never, pid),
  call(125, "capget",                  emulated, never, update(8), update(24)),
  call(126, "capset",                  emulated, never, update(8), in(24)),
  call(127, "rt_sigpending",           signal,   never, update_array(1, 1, Shape::signal_set), size),
  call(128, "rt_sigtimedwait",         signal,   may,   sigset_in, out_if_positive(128), timespec_in, size) |
      timeout(2, TimeUnit::timespec),
  call(129, "rt_sigqueueinfo",         signal,   never, pid, sig, in(128)) |
      sends_signal,
  call(130, "rt_sigsuspend",           signal,   may,   sigset_in, size) |
      waits_with_mask(0),
  call(131, "sigaltstack",             signal,   never, in(24), out(24)) |
      internal,
  call(132, "utime",                   emulated, may,   str, in(16)),
  call(133, "mknod",                   emulated, may,   str, mode, hex),
  refused(134, "uselib", ENOSYS, kNotInLinux),
  call(135, "personality",             process,  never, hex),
  call(136, "ustat",                   emulated, may,   hex, out(32)),
  call(137, "statfs",                  emulated, may,   str, out(120)) |
      looks_up,
  call(138, "fstatfs",                 emulated, may,   fd, out(120)),
  refused(139, "sysfs", ENOSYS, "obsolete, writes without a bound"),
  call(140, "getpriority",             emulated, never, i32, i32),
  call(141, "setpriority",             emulated, never, i32, i32, i32),
  call(142, "sched_setparam",          emulated, never, pid, in(4, Shape::words32)),
  call(143, "sched_getparam",          emulated, never, pid, out(4, Shape::words32)),
  call(144, "sched_setscheduler",      emulated, never, pid, i32, in(4, Shape::words32)),
  call(145, "sched_getscheduler",      emulated, never, pid),
  call(146, "sched_get_priority_max",  emulated, never, i32),
  call(147, "sched_get_priority_min",  emulated, never, i32),
  call(148, "sched_rr_get_interval",   emulated, never, pid, timespec_out),
  call(149, "mlock",                   emulated, may,   addr, size),
  call(150, "munlock",                 emulated, never, addr, size),
  call(151, "mlockall",                emulated, may,   hex),
  call(152, "munlockall",              emulated, never),
  call(153, "vhangup",                 emulated, may),
  refused(154, "modify_ldt", ENOSYS, "segments of the local descriptor table"),
  call(155, "pivot_root",              emulated, may,   str, str),
  refused(156, "_sysctl", ENOSYS, kNotInLinux),
  varied(157, "prctl",                 emulated, never, kPrctlOptions, i32, by_variant, hex, hex, hex),
  varied(158, "arch_prctl",            thread,   never, kArchPrctlCodes, hex, by_variant) |
      internal,
  call(159, "adjtimex",                emulated, never, update(208)),
  call(160, "setrlimit",               process,  never, choice(NameSet::resource), in(16, Shape::words64)),
  call(161, "chroot",                  emulated, may,   str),
  call(162, "sync",                    emulated, may) |
      writes_to_disk,
  call(163, "acct",                    emulated, may,   str),
  call(164, "settimeofday",            emulated, never, timeval_in, in(8)),
  call(165, "mount",                   emulated, may,   str, str, str, hex, addr),
  call(166, "umount2",                 emulated, may,   str, hex),
  call(167, "swapon",                  emulated, may,   str, hex),
  call(168, "swapoff",                 emulated, may,   str),
  call(169, "reboot",                  emulated, may,   hex, hex, hex, addr),
  call(170, "sethostname",             emulated, never, in_text(1), i32),
  call(171, "setdomainname",           emulated, never, in_text(1), i32),
  refused(172, "iopl", EPERM, "direct access to hardware ports"),
  refused(173, "ioperm", EPERM, "direct access to hardware ports"),
  refused(174, "create_module", ENOSYS, kNotInLinux),
  call(175, "init_module",             emulated, may,   addr, size, str),
  call(176, "delete_module",           emulated, may,   str, hex),
  refused(177, "get_kernel_syms", ENOSYS, kNotInLinux),
  refused(178, "query_module", ENOSYS, kNotInLinux),
  refused(179, "quotactl", ENOSYS, "disk quota administration") |
      harmless,
  refused(180, "nfsservctl", ENOSYS, kNotInLinux),
  refused(181, "getpmsg", ENOSYS, kNotInLinux),
  refused(182, "putpmsg", ENOSYS, kNotInLinux),
  refused(183, "afs_syscall", ENOSYS, kNotInLinux),
  refused(184, "tuxcall", ENOSYS, kNotInLinux),
  refused(185, "security", ENOSYS, kNotInLinux),
  call(186, "gettid",                  emulated, never) |
      fast(replay_only),
  call(187, "readahead",               emulated, may,   fd, off, size),
  call(188, "setxattr",                emulated, may,   str, str, in_bytes(3), size, hex),
  call(189, "lsetxattr",               emulated, may,   str, str, in_bytes(3), size, hex),
  call(190, "fsetxattr",               emulated, may,   fd, str, in_bytes(3), size, hex),
  call(191, "getxattr",                emulated, may,   str, str, out_text(3), size),
  call(192, "lgetxattr",               emulated, may,   str, str, out_text(3), size),
  call(193, "fgetxattr",               emulated, may,   fd, str, out_text(3), size),
  call(194, "listxattr",               emulated, may,   str, out_text(2), size),
  call(195, "llistxattr",              emulated, may,   str, out_text(2), size),
  call(196, "flistxattr",              emulated, may,   fd, out_text(2), size),
  call(197, "removexattr",             emulated, may,   str, str),
  call(198, "lremovexattr",            emulated, may,   str, str),
  call(199, "fremovexattr",            emulated, may,   fd, str),
  call(200, "tkill",                   signal,   never, pid, sig) |
      sends_signal,
  call(201, "time",                    emulated, never, out(8, Shape::words64)),
  call(202, "futex",                   thread,   may,   addr, choice(NameSet::futex_op), u32, addr, addr, hex) |
      keeps_descriptors,
  call(203, "sched_setaffinity",       thread,   never, pid, u32, in_bytes(1)),
  call(204, "sched_getaffinity",       thread,   never, pid, u32, out_array(1, 1, Shape::hex64)),
  refused(205, "set_thread_area", ENOSYS, kNotInLinux),
  refused(206, "io_setup", ENOSYS, kAioRings),
  refused(207, "io_destroy", ENOSYS, kAioRings),
  refused(208, "io_getevents", ENOSYS, kAioRings),
  refused(209, "io_submit", ENOSYS, kAioRings),
  refused(210, "io_cancel", ENOSYS, kAioRings),
  refused(211, "get_thread_area", ENOSYS, kNotInLinux),
  refused(212, "lookup_dcookie", ENOSYS, kNotInLinux),
  call(213, "epoll_create",            emulated, never, i32),
  refused(214, "epoll_ctl_old", ENOSYS, kNotInLinux),
  refused(215, "epoll_wait_old", ENOSYS, kNotInLinux),
  refused(216, "remap_file_pages", ENOSYS, "obsolete nonlinear mappings"),
  call(217, "getdents64",              emulated, may,   fd, out_records(2), u32),
  call(218, "set_tid_address",         thread,   never, addr),
  call(219, "restart_syscall",         signal,   may),
  call(220, "semtimedop",              emulated, may,   i32, in_array(2, 6), u32, timespec_in),
  call(221, "fadvise64",               emulated, never, fd, off, size, i32),
  call(222, "timer_create",            emulated, never, clock_id, in(64), update(4, Shape::words32)),
  call(223, "timer_settime",           emulated, never, i32, hex, itimerspec_in, itimerspec_out),
  call(224, "timer_gettime",           emulated, never, i32, itimerspec_out),
  call(225, "timer_getoverrun",        emulated, never, i32),
  call(226, "timer_delete",            emulated, never, i32),
  call(227, "clock_settime",           emulated, never, clock_id, timespec_in),
  call(228, "clock_gettime",           emulated, never, clock_id, timespec_out) |
      fast(always) | keeps_descriptors,
  call(229, "clock_getres",            emulated, never, clock_id, timespec_out),
  call(230, "clock_nanosleep",         emulated, may,   clock_id, hex, timespec_in, timespec_update),
  call(231, "exit_group",              process,  may,   i32),
  call(232, "epoll_wait",              emulated, may,   fd, out_array(2, 12, Shape::epoll_events), i32, i32) |
      timeout(3, TimeUnit::milliseconds),
  call(233, "epoll_ctl",               emulated, never, fd, i32, fd, in(12, Shape::epoll_events)),
  call(234, "tgkill",                  signal,   never, pid, pid, sig) |
      sends_signal,
  call(235, "utimes",                  emulated, may,   str, in(32)),
  refused(236, "vserver", ENOSYS, kNotInLinux),
  call(237, "mbind",                   emulated, never, addr, size, i32, addr, size, hex),
  call(238, "set_mempolicy",           emulated, never, i32, addr, size),
  call(239, "get_mempolicy",           emulated, never, update(4, Shape::words32), update_bits(2), size, addr, hex),
  call(240, "mq_open",                 emulated, may,   str, open_flags, mode, in(64)),
  call(241, "mq_unlink",               emulated, may,   str),
  call(242, "mq_timedsend",            emulated, may,   fd, in_text(2), size, u32, timespec_in),
  call(243, "mq_timedreceive",         emulated, may,   fd, out_text(2), size, update(4, Shape::words32), timespec_in),
  call(244, "mq_notify",               emulated, never, fd, in(64)),
  call(245, "mq_getsetattr",           emulated, never, fd, in(64), out(64)),
  call(246, "kexec_load",              emulated, may,   addr, size, addr, hex),
  call(247, "waitid",                  emulated, may,   i32, pid, update(128), wait_options, update(144)),
  refused(248, "add_key", ENOSYS, kKeyring),
  refused(249, "request_key", ENOSYS, kKeyring),
  refused(250, "keyctl", ENOSYS, kKeyring),
  call(251, "ioprio_set",              emulated, never, i32, i32, i32),
  call(252, "ioprio_get",              emulated, never, i32, i32),
  call(253, "inotify_init",            emulated, never),
  call(254, "inotify_add_watch",       emulated, may,   fd, str, hex),
  call(255, "inotify_rm_watch",        emulated, never, fd, i32),
  call(256, "migrate_pages",           emulated, may,   pid, size, addr, addr),
  call(257, "openat",                  emulated, may,   dirfd, str, open_flags, mode) |
      opens,
  call(258, "mkdirat",                 emulated, may,   dirfd, str, mode),
  call(259, "mknodat",                 emulated, may,   dirfd, str, mode, hex),
  call(260, "fchownat",                emulated, may,   dirfd, str, i32, i32, at_flags),
  call(261, "futimesat",               emulated, may,   dirfd, str, in(32)),
  call(262, "newfstatat",              emulated, may,   dirfd, str, stat_out, at_flags) |
      looks_up,
  call(263, "unlinkat",                emulated, may,   dirfd, str, hex),
  call(264, "renameat",                emulated, may,   dirfd, str, dirfd, str),
  call(265, "linkat",                  emulated, may,   dirfd, str, dirfd, str, at_flags),
  call(266, "symlinkat",               emulated, may,   str, dirfd, str),
  call(267, "readlinkat",              emulated, may,   dirfd, str, out_text(3), i32) |
      looks_up,
  call(268, "fchmodat",                emulated, may,   dirfd, str, mode),
  call(269, "faccessat",               emulated, may,   dirfd, str, flags(NameSet::access_mode)) |
      looks_up,
  call(270, "pselect6",                emulated, may,   i32, update_bits(0), update_bits(0), update_bits(0), timespec_update, in(16)) |
      timeout(4, TimeUnit::timespec) | waits_with_mask(5),
  call(271, "ppoll",                   emulated, may,   update_array(1, 8, Shape::pollfds), u32, timespec_update, sigset_in, size) |
      timeout(2, TimeUnit::timespec) | waits_with_mask(3),
  call(272, "unshare",                 process,  may,   flags(NameSet::clone_flags)),
  call(273, "set_robust_list",         thread,   never, addr, size) |
      internal,
  call(274, "get_robust_list",         thread,   never, pid, out(8, Shape::hex64), out(8, Shape::words64)),
  call(275, "splice",                  emulated, may,   fd, offset, fd, offset, size, hex) |
      output_to(2) | at_position(FilePosition::pointed_to),
  call(276, "tee",                     emulated, may,   fd, fd, size, hex),
  call(277, "sync_file_range",         emulated, may,   fd, off, off, hex) |
      writes_to_disk,
  refused(278, "vmsplice", ENOSYS, "pages of guest memory given to a pipe"),
  call(279, "move_pages",              emulated, may,   pid, size, addr, addr, update_array(1, 4, Shape::words32), hex),
  call(280, "utimensat",               emulated, may,   dirfd, str, in(32), at_flags),
  call(281, "epoll_pwait",             emulated, may,   fd, out_array(2, 12, Shape::epoll_events), i32, i32, sigset_in, size) |
      timeout(3, TimeUnit::milliseconds) | waits_with_mask(4),
  call(282, "signalfd",                emulated, never, fd, sigset_in, size),
  call(283, "timerfd_create",          emulated, never, clock_id, hex),
  call(284, "eventfd",                 emulated, never, u32),
  call(285, "fallocate",               emulated, may,   fd, hex, off, off) |
      changes_file(0),
  call(286, "timerfd_settime",         emulated, never, fd, hex, itimerspec_in, itimerspec_out),
  call(287, "timerfd_gettime",         emulated, never, fd, itimerspec_out),
  call(288, "accept4",                 emulated, may,   fd, sockname(2), length, flags(NameSet::socket_type)) |
      waits_for(POLLIN),
  call(289, "signalfd4",               emulated, never, fd, sigset_in, size, open_flags),
  call(290, "eventfd2",                emulated, never, u32, open_flags),
  call(291, "epoll_create1",           emulated, never, open_flags),
  call(292, "dup3",                    emulated, may,   fd, fd, open_flags) |
      moves_descriptors,
  call(293, "pipe2",                   emulated, never, out(8, Shape::words32), open_flags),
  call(294, "inotify_init1",           emulated, never, open_flags),
  call(295, "preadv",                  emulated, may,   fd, iov_out(2), size, off, off) |
      reads(vectors),
  call(296, "pwritev",                 emulated, may,   fd, iov_in(2), size, off, off) |
      writes(vectors) | at_position(FilePosition::in_argument),
  call(297, "rt_tgsigqueueinfo",       signal,   never, pid, pid, sig, in(128)) |
      sends_signal,
  refused(298, "perf_event_open", EACCES, "performance counters"),
  call(299, "recvmmsg",                emulated, may,   fd, mmsg(2), u32, msg_flags, timespec_update),
  call(300, "fanotify_init",           emulated, never, hex, open_flags),
  call(301, "fanotify_mark",           emulated, may,   fd, hex, hex, dirfd, str),
  call(302, "prlimit64",               process,  never, pid, choice(NameSet::resource), in(16, Shape::words64), out(16, Shape::words64)),
  call(303, "name_to_handle_at",       emulated, may,   dirfd, str, update_sized(8), update(8, Shape::words32), at_flags),
  call(304, "open_by_handle_at",       emulated, may,   fd, addr, open_flags),
  call(305, "clock_adjtime",           emulated, never, clock_id, update(208)),
  call(306, "syncfs",                  emulated, may,   fd) |
      writes_to_disk,
  call(307, "sendmmsg",                emulated, may,   fd, update_array(2, 64), u32, msg_flags) |
      writes(messages),
  call(308, "setns",                   process,  may,   fd, hex),
  call(309, "getcpu",                  emulated, never, out(4, Shape::words32), out(4, Shape::words32), addr),
  call(310, "process_vm_readv",        emulated, never, pid, iov_out(2), size, addr, size, hex),
  refused(311, "process_vm_writev", EPERM, kOtherProcess),
  call(312, "kcmp",                    emulated, never, pid, pid, i32, size, size),
  call(313, "finit_module",            emulated, may,   fd, str, hex),
  call(314, "sched_setattr",           emulated, never, pid, update_sized(0), hex),
  call(315, "sched_getattr",           emulated, never, pid, update_array(2, 1), u32, hex),
  call(316, "renameat2",               emulated, may,   dirfd, str, dirfd, str, hex),
  varied(317, "seccomp",               process,  may,   kSeccompOperations, u32, hex, by_variant),
  call(318, "getrandom",               emulated, may,   out_array(1, 1, Shape::bytes), size, hex) |
      fast(unrecorded),
  call(319, "memfd_create",            emulated, never, str, hex),
  call(320, "kexec_file_load",         emulated, may,   fd, fd, size, str, hex),
  refused(321, "bpf", EPERM, "programs and maps in the kernel"),
  call(322, "execveat",                process,  may,   dirfd, str, strings, strings, at_flags),
  refused(323, "userfaultfd", ENOSYS, "page faults handled by the program itself"),
  call(324, "membarrier",              emulated, never, i32, hex, i32),
  call(325, "mlock2",                  emulated, may,   addr, size, hex),
  call(326, "copy_file_range",         emulated, may,   fd, offset, fd, offset, size, hex) |
      output_to(2) | at_position(FilePosition::pointed_to),
  call(327, "preadv2",                 emulated, may,   fd, iov_out(2), size, off, off, hex) |
      reads(vectors),
  call(328, "pwritev2",                emulated, may,   fd, iov_in(2), size, off, off, hex) |
      writes(vectors),
  call(329, "pkey_mprotect",           memory,   never, addr, size, prot, i32) |
      mapping(MappingChange::protect_with_key),
  refused(330, "pkey_alloc", ENOSPC, kPkeys) |
      harmless,
  refused(331, "pkey_free", EINVAL, kPkeys) |
      harmless,
  call(332, "statx",                   emulated, may,   dirfd, str, at_flags, hex, out(256, Shape::file_status)) |
      looks_up,
  refused(333, "io_pgetevents", ENOSYS, kAioRings),
  refused(334, "rseq", ENOSYS, "restartable sequences: the kernel writes guest memory at any time"),
  refused(335, "uretprobe", ENOSYS, "only the kernel's own probes call it"),
  refused(336, "uprobe", ENOSYS, "only the kernel's own probes call it"),
  call(424, "pidfd_send_signal",       signal,   never, fd, sig, in(128), hex) |
      sends_signal,
  refused(425, "io_uring_setup", ENOSYS, "rings shared with the kernel"),
  refused(426, "io_uring_enter", ENOSYS, "rings shared with the kernel"),
  refused(427, "io_uring_register", ENOSYS, "rings shared with the kernel"),
  call(428, "open_tree",               emulated, may,   dirfd, str, hex),
  call(429, "move_mount",              emulated, may,   dirfd, str, dirfd, str, hex),
  call(430, "fsopen",                  emulated, may,   str, hex),
  call(431, "fsconfig",                emulated, may,   fd, u32, str, addr, i32),
  call(432, "fsmount",                 emulated, may,   fd, hex, hex),
  call(433, "fspick",                  emulated, may,   dirfd, str, hex),
  call(434, "pidfd_open",              emulated, never, pid, hex),
  refused(435, "clone3", ENOSYS, "libraries fall back to clone"),
  call(436, "close_range",             process,  may,   u32, u32, hex) |
      moves_descriptors,
  call(437, "openat2",                 emulated, may,   dirfd, str, in_array(3, 1), size) |
      opens,
  call(438, "pidfd_getfd",             emulated, never, fd, fd, hex),
  call(439, "faccessat2",              emulated, may,   dirfd, str, flags(NameSet::access_mode), at_flags) |
      looks_up,
  refused(440, "process_madvise", ENOSYS, kOtherProcess),
  call(441, "epoll_pwait2",            emulated, may,   fd, out_array(2, 12, Shape::epoll_events), i32, timespec_in, sigset_in, size) |
      timeout(3, TimeUnit::timespec) | waits_with_mask(4),
  call(442, "mount_setattr",           emulated, may,   dirfd, str, hex, in_array(4, 1), size),
  refused(443, "quotactl_fd", ENOSYS, "disk quota administration") |
      harmless,
  call(444, "landlock_create_ruleset", emulated, never, in_array(1, 1), size, hex),
  call(445, "landlock_add_rule",       emulated, never, fd, i32, addr, hex),
  call(446, "landlock_restrict_self",  process,  never, fd, hex),
  refused(447, "memfd_secret", ENOSYS, "memory that only its owner can read"),
  call(448, "process_mrelease",        emulated, may,   fd, hex),
  call(449, "futex_waitv",             thread,   may,   in_array(1, 24), u32, hex, timespec_in, clock_id),
  call(450, "set_mempolicy_home_node", emulated, never, addr, size, size, hex),
  call(451, "cachestat",               emulated, never, u32, in(16, Shape::words64), out(40, Shape::words64), hex),
  call(452, "fchmodat2",               emulated, may,   dirfd, str, mode, at_flags),
  refused(453, "map_shadow_stack", ENOSYS, "shadow stacks"),
  call(454, "futex_wake",              thread,   never, addr, hex, i32, hex),
  call(455, "futex_wait",              thread,   may,   addr, size, hex, hex, timespec_in, clock_id),
  call(456, "futex_requeue",           thread,   never, in(48), hex, i32, i32),
  call(457, "statmount",               emulated, may,   in(32), update_array(2, 1), size, hex),
  call(458, "listmount",               emulated, may,   in(32), out_array(2, 8, Shape::words64), size, hex),
  call(459, "lsm_get_self_attr",       emulated, never, u32, update_by_length(2), length, hex),
  call(460, "lsm_set_self_attr",       emulated, never, u32, in_bytes(2), u32, hex),
  call(461, "lsm_list_modules",        emulated, never, update_by_length(1), length, hex),
  refused(462, "mseal", ENOSYS, "mappings that cannot be changed any more"),
  call(463, "setxattrat",              emulated, may,   dirfd, str, at_flags, str, in_array(5, 1), size),
  call(464, "getxattrat",              emulated, may,   dirfd, str, at_flags, str, ArgSpec{ArgKind::xattr_args, NameSet::none, Shape::opaque, 5, 16}, size),
  call(465, "listxattrat",             emulated, may,   dirfd, str, at_flags, out_text(4), size),
  call(466, "removexattrat",           emulated, may,   dirfd, str, at_flags, str),
  call(467, "open_tree_attr",          emulated, may,   dirfd, str, hex, in_array(4, 1), size),
  call(468, "file_getattr",            emulated, may,   dirfd, str, update_array(3, 1), size, at_flags),
  call(469, "file_setattr",            emulated, may,   dirfd, str, in_array(3, 1), size, at_flags),
  refused(470, "listns", ENOSYS, "newer than Linux 6.18"),
  refused(471, "rseq_slice_yield", ENOSYS, "newer than Linux 6.18"),
};
// clang-format on

constexpr bool is_sorted_by_number() {
  for (size_t i = 1; i < std::size(kTable); ++i) {
    if (kTable[i - 1].number >= kTable[i].number) return false;
  }
  return kTable[std::size(kTable) - 1].number < kSyscallLimit;
}
static_assert(is_sorted_by_number());

// Row index plus one by number; 0 for numbers that no call has.
constexpr std::array<uint16_t, kSyscallLimit> make_index() {
  std::array<uint16_t, kSyscallLimit> index{};
  for (size_t i = 0; i < std::size(kTable); ++i)
    index[kTable[i].number] = static_cast<uint16_t>(i + 1);
  return index;
}
constexpr std::array<uint16_t, kSyscallLimit> kIndex = make_index();

// Adds what the arguments tell.
constexpr CallProperties all_properties(const SyscallInfo& info) {
  CallProperties properties = info.properties;
  properties.on_descriptor = info.args[0].kind == ArgKind::fd;
  if (properties.fast != FastPath::always) return properties;
  for (uint8_t i = 0; i < info.arg_count; ++i) {
    const ArgSpec& arg = info.args[i];
    if (!is_output(arg.kind)) continue;
    properties.buffer_arg = static_cast<int16_t>(i);
    properties.buffer_size = arg.kind == ArgKind::out ? static_cast<uint16_t>(arg.size) : uint16_t{0};
    properties.room_arg = arg.count_arg;
  }
  return properties;
}

constexpr std::array<CallProperties, kSyscallLimit> make_properties() {
  std::array<CallProperties, kSyscallLimit> properties{};
  for (const SyscallInfo& info : kTable)
    properties[info.number] = all_properties(info);
  return properties;
}

// The fast path of recording knows one buffer of a known size.
constexpr bool fast_calls_have_one_buffer() {
  for (const SyscallInfo& info : kTable) {
    int outputs = 0;
    for (const ArgSpec& arg : info.args) {
      if (!is_output(arg.kind)) continue;
      ++outputs;
      bool is_known = arg.kind == ArgKind::out || arg.kind == ArgKind::out_text;
      if (info.properties.fast == FastPath::always && !is_known) return false;
    }
    if (info.properties.fast == FastPath::always && outputs > 1) return false;
  }
  return true;
}
static_assert(fast_calls_have_one_buffer());

constexpr std::array<CallTraits, kSyscallLimit> make_traits() {
  std::array<CallTraits, kSyscallLimit> traits{};
  for (const SyscallInfo& info : kTable) {
    CallTraits& t = traits[info.number];
    t.known = true;
    t.has_variants = info.has_variants;
    t.may_block = info.blocking == Blocking::may || t.has_variants;
    t.plain = info.call_class == CallClass::emulated && !t.has_variants;
    for (const ArgSpec& arg : info.args)
      t.may_write |= is_output(arg.kind);
  }
  return traits;
}

} // namespace

constexpr std::array<CallTraits, kSyscallLimit> kCallTraits = make_traits();
constexpr std::array<CallProperties, kSyscallLimit> kCallProperties = make_properties();

std::span<const SyscallInfo> syscall_table() {
  return kTable;
}

const SyscallInfo* find_syscall(uint64_t number) {
  if (number >= kSyscallLimit || kIndex[number] == 0) return nullptr;
  return &kTable[kIndex[number] - 1];
}

CallShape shape_of(const SyscallInfo& info, const SyscallArgs& args) {
  CallShape shape{&info, nullptr, info.call_class, info.blocking, info.error, info.reason};
  const VariantTable* table = info.variants;
  if (table == nullptr) return shape;

  CallVariant decoded;
  const CallVariant* variant = find_variant(*table, args);
  shape.variant = variant;
  if (variant == nullptr) {
    if (table->unmatched == Unmatched::as_row) return shape;
    if (table->unmatched == Unmatched::by_ioctl) {
      decoded = decode_ioctl_request(static_cast<uint32_t>(args[table->selector_arg]));
    } else {
      decoded = spec::refused_variant(0, nullptr, table->unmatched_error, "unknown to rdb");
    }
    variant = &decoded;
  }
  shape.call_class = variant->call_class;
  shape.blocking = variant->blocking;
  shape.error = variant->error;
  shape.reason = variant->reason;
  shape.variant_arg = table->variant_arg;
  shape.variant_spec = variant->arg;
  return shape;
}

const char* name_of(CallClass call_class) {
  switch (call_class) {
  case CallClass::emulated:
    return "emulated";
  case CallClass::memory:
    return "memory";
  case CallClass::thread:
    return "thread";
  case CallClass::signal:
    return "signal";
  case CallClass::process:
    return "process";
  case CallClass::refused:
    return "refused";
  }
  return "?";
}

} // namespace rdb
