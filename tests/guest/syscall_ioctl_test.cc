// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ioctl requests of terminals and files, and what the table says of requests it does not list.
#include "rdbtool/guest/syscalls/variants.h"
#include "tests/guest/syscall_twin_run.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/kvm.h>
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

CallShape shape_of_request(uint64_t request) {
  return shape_of(*find_syscall(SYS_ioctl), {3, request, 0x1000});
}

TEST(SyscallIoctl, UnlistedRequestsSayWhatTheyWrite) {
  CallShape reads = shape_of_request(RTC_RD_TIME);
  EXPECT_EQ(reads.call_class, CallClass::Emulated);
  EXPECT_EQ(reads.variant, nullptr);
  EXPECT_EQ(reads.arg(2).kind, ArgKind::Update);
  EXPECT_EQ(reads.arg(2).size, sizeof(rtc_time));
  CallShape writes = shape_of_request(RTC_SET_TIME);
  EXPECT_EQ(writes.arg(2).kind, ArgKind::In);
}

TEST(SyscallIoctl, RequestsThatHideTheirOutputAreRefused) {
  for (uint64_t request :
       {uint64_t{KVM_GET_SUPPORTED_CPUID}, uint64_t{0x2285}, uint64_t{0x1234}, uint64_t{0}}) {
    CallShape shape = shape_of_request(request);
    EXPECT_EQ(shape.call_class, CallClass::Refused) << request;
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
