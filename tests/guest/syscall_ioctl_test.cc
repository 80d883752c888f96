// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ioctl requests of terminals and files, and what the table says of requests it does not list.
#include "rdbtool/syscalls/variants.h"
#include "tests/guest/syscall_twin_run.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/kvm.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::test {
namespace {

TEST(SyscallIoctl, Terminals) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd master(posix_openpt(O_RDWR | O_NOCTTY));
    char* termios = guest.take(64);
    auto* size = guest.take<winsize>();
    EXPECT_EQ(run.call(SYS_ioctl, int(master), TCGETS, termios), 0);
    run.expect_write(termios, 36);
    EXPECT_EQ(run.call(SYS_ioctl, int(master), _IOC(_IOC_READ, 'T', 0x2a, 44), termios), 0);
    *size = {24, 80, 1, 2};
    EXPECT_EQ(run.call(SYS_ioctl, int(master), TIOCSWINSZ, size), 0);
    run.forget(size, sizeof *size);
    EXPECT_EQ(run.call(SYS_ioctl, int(master), TIOCGWINSZ, size), 0);
    EXPECT_EQ(size->ws_col, 80);
    EXPECT_EQ(run.call(SYS_ioctl, int(master), TIOCGWINSZ, guest.edge(4)), -EFAULT);
    int* number = guest.put<int>(0);
    EXPECT_EQ(run.call(SYS_ioctl, int(master), TIOCSPTLCK, number), 0);
    EXPECT_EQ(run.changing_call(SYS_ioctl, int(master), TIOCGPTN, number), 0);
    run.forget(number, 4);
    Fd slave(static_cast<int>(run.call(SYS_ioctl, int(master), TIOCGPTPEER, O_RDWR | O_NOCTTY)));
    EXPECT_EQ(write(slave, "typed", 5), 5);
    pollfd arrival{master, POLLIN, 0}; // the kernel passes it on by and by
    EXPECT_EQ(poll(&arrival, 1, -1), 1);
    EXPECT_EQ(run.call(SYS_ioctl, int(master), FIONREAD, number), 0);
    EXPECT_EQ(run.call(SYS_ioctl, int(slave), TIOCOUTQ, number), 0);
    EXPECT_EQ(run.call(SYS_ioctl, int(slave), TIOCGETD, number), 0);
    EXPECT_EQ(run.call(SYS_ioctl, int(slave), TCGETA, termios), 0);
    EXPECT_EQ(run.call(SYS_ioctl, int(slave), TIOCGSID, number), -ENOTTY);
    char* text = guest.take(16);
    EXPECT_EQ(run.call(SYS_read, int(master), text, 16), 5);
  });
}

TEST(SyscallIoctl, Files) {
  TempDir dir;
  dir.write_file("data", std::string(10000, 'x'));
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open(dir.path("data").c_str(), O_RDWR));
    int* value = guest.take<int>();
    run.call(SYS_ioctl, int(fd), FIGETBSZ, value);
    auto* attributes = guest.take<uint64_t>();
    run.call(SYS_ioctl, int(fd), FS_IOC_GETFLAGS, attributes);
    run.call(SYS_ioctl, int(fd), FS_IOC_GETFLAGS, guest.edge(4));
    run.call(SYS_ioctl, int(fd), FS_IOC_FSGETXATTR, guest.take(28));
    auto* map = guest.take<char>(sizeof(fiemap) + 4 * sizeof(fiemap_extent));
    auto* header = reinterpret_cast<fiemap*>(map);
    *header = {};
    header->fm_length = ~uint64_t{0};
    header->fm_flags = FIEMAP_FLAG_SYNC;
    header->fm_extent_count = 4;
    run.call(SYS_ioctl, int(fd), FS_IOC_FIEMAP, header);
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), TCGETS, map), -ENOTTY);
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), FIOCLEX), 0);
    // Not in the table: decoded from the request itself.
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), RTC_RD_TIME, map), -ENOTTY);
  });
}

// Devices that not every machine has: what is not there fails alike in both runs.
TEST(SyscallIoctl, DevicesThatAreThere) {
  struct Request {
    const char* path;
    std::initializer_list<uint64_t> requests;
  };
  const Request all[] = {
      {"/proc/self/ns/user", {_IO(0xb7, 2), _IO(0xb7, 3), _IO(0xb7, 4), _IOR(0xb7, 5, uint64_t)}},
      {"/dev/random", {RNDGETENTCNT}},
      {"/dev/net/tun", {TUNGETFEATURES, TUNGETIFF}},
      {"/dev/vda",
       {BLKGETSIZE, BLKGETSIZE64, BLKSSZGET, BLKPBSZGET, BLKBSZGET, BLKROGET, BLKRAGET, BLKFRAGET, BLKSECTGET,
        BLKIOMIN, BLKIOOPT, BLKALIGNOFF, BLKROTATIONAL, BLKDISCARDZEROES, 0x0301}},
      {"/dev/loop0", {0x4c05, BLKGETSIZE64}},
      {"/dev/tty0", {0x4b33, 0x4b3b, 0x4b44, 0x5600, 0x5601, 0x5603}},
      {"/dev/ttyS0",
       {TCGETS, TIOCMGET, TIOCGSERIAL, TIOCGICOUNT, TIOCGRS485, TIOCSERGETLSR, TIOCGSOFTCAR, TIOCGLCKTRMIOS,
        TIOCGDEV}},
  };
  for (const Request& device : all) {
    int probe = open(device.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (probe < 0) continue;
    close(probe);
    for (uint64_t request : device.requests) {
      SCOPED_TRACE(testing::Message() << device.path << " request " << std::hex << request);
      expect_alike([&](TwinRun& run, TwinGuest& guest) {
        Fd fd(open(device.path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
        int64_t result = run.call(SYS_ioctl, int(fd), request, guest.take(1024));
        if (result > 2) close(static_cast<int>(result)); // a namespace's descriptor
      });
    }
  }
}

CallShape shape_of_request(uint64_t request) {
  return shape_of(*find_syscall(SYS_ioctl), {3, request, 0x1000});
}

TEST(SyscallIoctl, UnlistedRequestsSayWhatTheyWrite) {
  CallShape reads = shape_of_request(RTC_RD_TIME);
  EXPECT_EQ(reads.call_class, CallClass::emulated);
  EXPECT_EQ(reads.variant, nullptr);
  EXPECT_EQ(reads.arg(2).kind, ArgKind::update_exact);
  EXPECT_EQ(reads.arg(2).size, sizeof(rtc_time));
  CallShape writes = shape_of_request(RTC_SET_TIME);
  EXPECT_EQ(writes.arg(2).kind, ArgKind::in);
}

TEST(SyscallIoctl, UnlistedRequestsCannotWriteMore) {
  TwinGuest guest;
  ScratchArena arena;
  RedirectedCall call(arena);
  char* structure = guest.take(sizeof(rtc_time));
  SyscallArgs args{3, RTC_RD_TIME, reinterpret_cast<uint64_t>(structure)};
  uint64_t scratch = call.prepare(shape_of(*find_syscall(SYS_ioctl), args), args, guest)[2];
  EXPECT_NE(scratch, args[2]);
  Fd zero(open("/dev/zero", O_RDONLY));
  auto read_zeros = [&](size_t size) {
    return raw_call(SYS_read, {static_cast<uint64_t>(int(zero)), scratch, size});
  };
  EXPECT_EQ(read_zeros(sizeof(rtc_time) + 100), int64_t{sizeof(rtc_time)});
  std::span<const MemoryWrite> writes = call.finish(0);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].size, sizeof(rtc_time));
}

TEST(SyscallIoctl, RequestsThatHideTheirOutputAreRefused) {
  for (uint64_t request :
       {uint64_t{KVM_GET_SUPPORTED_CPUID}, uint64_t{0x2285}, uint64_t{0x1234}, uint64_t{0}}) {
    CallShape shape = shape_of_request(request);
    EXPECT_EQ(shape.call_class, CallClass::refused) << request;
    EXPECT_EQ(shape.error, ENOTTY) << request;
    EXPECT_NE(shape.reason, nullptr) << request;
  }
}

TEST(SyscallIoctl, BitsAboveTheRequestDoNotCount) {
  CallShape shape = shape_of_request(0xdeadbeef00000000 | TCGETS);
  ASSERT_NE(shape.variant, nullptr);
  EXPECT_STREQ(shape.variant->name, "TCGETS");
}

} // namespace
} // namespace rdb::test
