// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls on files, directories and paths: redirected, they do what they do directly.
#include "tests/guest/syscall_twin_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace rdb::test {
namespace {

class SyscallFiles : public ::testing::Test {
protected:
  void SetUp() override {
    std::string content;
    for (int i = 0; i < 20000; ++i)
      content += static_cast<char>('a' + i % 23);
    dir_.write_file("data", content);
    dir_.write_file("empty", "");
    ASSERT_EQ(symlink("data", dir_.path("link").c_str()), 0);
  }
  int open_data() { return open(dir_.path("data").c_str(), O_RDONLY); }

  TempDir dir_;
};

TEST_F(SyscallFiles, ReadsWithoutAndWithOffset) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    char* buffer = guest.take(8192);
    EXPECT_EQ(run.call(SYS_read, int(fd), buffer, 100), 100);
    run.expect_write(buffer, 100);
    EXPECT_EQ(run.call(SYS_read, int(fd), buffer + 50, 8000), 8000);
    EXPECT_EQ(run.call(SYS_pread64, int(fd), buffer, 1000, 19500), 500);
    EXPECT_EQ(run.call(SYS_pread64, int(fd), buffer, 1000, 30000), 0);
    EXPECT_EQ(run.call(SYS_read, int(fd), buffer, 0), 0);
    EXPECT_EQ(run.call(SYS_read, -1, buffer, 10), -EBADF);
    EXPECT_EQ(run.call(SYS_lseek, int(fd), 0, SEEK_CUR), 8100);
  });
}

TEST_F(SyscallFiles, ReadsLargerThanTheArena) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    // The twin runs' arena holds 64 KiB: the vectors together need more.
    auto* vectors = guest.take<iovec>(3);
    char* buffer = guest.take(48 << 10);
    vectors[0] = {buffer, 40 << 10};
    vectors[1] = {buffer + 100, 40 << 10};
    vectors[2] = {buffer, 10};
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 3), 20000);
    EXPECT_EQ(run.call(SYS_lseek, int(fd), 0, SEEK_SET), 0);
    EXPECT_EQ(run.call(SYS_read, int(fd), buffer, 48 << 10), 20000);
  });
}

TEST_F(SyscallFiles, ReadsStopAtTheEndOfWritableMemory) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    EXPECT_EQ(run.call(SYS_read, int(fd), guest.edge(300), 1000), 300);
    EXPECT_EQ(run.call(SYS_read, int(fd), guest.edge(5000), 10000), 5000);
    EXPECT_EQ(run.call(SYS_read, int(fd), guest.inaccessible(), 10), -EFAULT);
    EXPECT_EQ(run.call(SYS_read, int(fd), guest.read_only(), 10), -EFAULT);
    EXPECT_EQ(run.call(SYS_read, int(fd), nullptr, 10), -EFAULT);
    EXPECT_EQ(run.call(SYS_read, int(fd), 0xffff800000000000, 10), -EFAULT);
    EXPECT_EQ(run.call(SYS_lseek, int(fd), 0, SEEK_CUR), 5300);
  });
}

TEST_F(SyscallFiles, ReadsVectors) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    auto* vectors = guest.take<iovec>(4);
    char* buffer = guest.take(4096);
    vectors[0] = {buffer, 10};
    vectors[1] = {nullptr, 0};
    vectors[2] = {buffer + 5, 100}; // overlaps the first
    vectors[3] = {guest.edge(50), 50};
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 4), 160);
    EXPECT_EQ(run.call(SYS_preadv, int(fd), vectors, 4, 19950, 0), 50);
    EXPECT_EQ(run.call(SYS_preadv2, int(fd), vectors, 3, -1, -1, 0), 110);
    vectors[3] = {guest.edge(50), 80}; // runs off the mapping
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 4), 160);
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 0), 0);
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 1025), -EINVAL);
    EXPECT_EQ(run.call(SYS_readv, int(fd), guest.inaccessible(), 2), -EFAULT);
    vectors[1].iov_len = static_cast<size_t>(-1);
    EXPECT_EQ(run.call(SYS_readv, int(fd), vectors, 4), -EINVAL);
  });
}

TEST_F(SyscallFiles, StatusOfFiles) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    const char* path = guest.put_string(dir_.path("data"));
    const char* link = guest.put_string(dir_.path("link"));
    const char* missing = guest.put_string(dir_.path("missing"));
    auto* status = guest.take<struct stat>();
    EXPECT_EQ(run.call(SYS_fstat, int(fd), status), 0);
    run.expect_write(status, sizeof *status);
    EXPECT_EQ(status->st_size, 20000);
    EXPECT_EQ(run.call(SYS_stat, path, status), 0);
    EXPECT_EQ(run.call(SYS_lstat, link, status), 0);
    EXPECT_EQ(run.call(SYS_stat, missing, status), -ENOENT);
    EXPECT_EQ(run.call(SYS_newfstatat, AT_FDCWD, link, status, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(run.call(SYS_stat, path, guest.edge(100)), -EFAULT);
    EXPECT_EQ(run.call(SYS_stat, guest.inaccessible(), status), -EFAULT);
    auto* extended = guest.take<struct statx>();
    EXPECT_EQ(run.call(SYS_statx, AT_FDCWD, path, 0, STATX_ALL, extended), 0);
    EXPECT_EQ(run.call(SYS_statx, int(fd), guest.put_string(""), AT_EMPTY_PATH, STATX_SIZE, extended), 0);
    auto* system = guest.take<struct statfs>();
    EXPECT_EQ(run.changing_call(SYS_statfs, path, system), 0);
    run.expect_write(system, sizeof *system);
    EXPECT_EQ(run.changing_call(SYS_fstatfs, int(fd), system), 0);
    char* old_style = guest.take(32);
    run.changing_call(SYS_ustat, status->st_dev, old_style);
    guest.reset();
  });
}

TEST_F(SyscallFiles, NamesAndDirectories) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    const char* link = guest.put_string(dir_.path("link"));
    char* buffer = guest.take(4096);
    EXPECT_EQ(run.call(SYS_readlink, link, buffer, 100), 4);
    run.expect_write(buffer, 4);
    EXPECT_EQ(run.call(SYS_readlink, link, buffer, 2), 2);
    EXPECT_EQ(run.call(SYS_readlink, link, buffer, 0), -EINVAL);
    EXPECT_EQ(run.call(SYS_readlink, link, buffer, -1), -EINVAL);
    EXPECT_EQ(run.call(SYS_readlinkat, AT_FDCWD, link, buffer, 100), 4);
    EXPECT_GT(run.call(SYS_getcwd, buffer, 4096), 0);
    EXPECT_EQ(run.call(SYS_getcwd, buffer, 1), -ERANGE);
    Fd directory(open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY));
    EXPECT_GT(run.call(SYS_getdents64, int(directory), buffer, 4096), 0);
    EXPECT_EQ(run.call(SYS_getdents64, int(directory), buffer, 4096), 0);
    EXPECT_EQ(run.call(SYS_lseek, int(directory), 0, SEEK_SET), 0);
    EXPECT_GT(run.call(SYS_getdents, int(directory), buffer, 4096), 0);
    EXPECT_EQ(run.call(SYS_lseek, int(directory), 0, SEEK_SET), 0);
    EXPECT_EQ(run.call(SYS_getdents64, int(directory), buffer, 8), -EINVAL);
    EXPECT_EQ(run.call(SYS_faccessat, AT_FDCWD, link, R_OK), 0);
  });
}

TEST_F(SyscallFiles, ExtendedAttributes) {
  if (setxattr(dir_.path("data").c_str(), "user.color", "green", 5, 0) != 0)
    GTEST_SKIP() << "the temporary directory has no extended attributes";
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open_data());
    const char* path = guest.put_string(dir_.path("data"));
    const char* name = guest.put_string("user.color");
    char* buffer = guest.take(256);
    EXPECT_EQ(run.call(SYS_getxattr, path, name, buffer, 100), 5);
    EXPECT_EQ(run.call(SYS_getxattr, path, name, buffer, 0), 5); // asks for the size
    EXPECT_EQ(run.call(SYS_lgetxattr, path, name, buffer, 3), -ERANGE);
    EXPECT_EQ(run.call(SYS_fgetxattr, int(fd), name, buffer, 5), 5);
    EXPECT_GE(run.call(SYS_listxattr, path, buffer, 256), 11);
    EXPECT_GE(run.call(SYS_llistxattr, path, buffer, 256), 11);
    EXPECT_GE(run.call(SYS_flistxattr, int(fd), buffer, 0), 11);
  });
}

TEST_F(SyscallFiles, ExtendedAttributesThroughAStructure) {
  if (setxattr(dir_.path("data").c_str(), "user.color", "green", 5, 0) != 0)
    GTEST_SKIP() << "the temporary directory has no extended attributes";
  constexpr uint64_t kGetxattrat = 464, kListxattrat = 465;
  if (raw_call(kGetxattrat, {}) == -ENOSYS) GTEST_SKIP() << "the kernel has no getxattrat";
  struct XattrArgs {
    uint64_t value;
    uint32_t size, flags;
  };
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    const char* path = guest.put_string(dir_.path("data"));
    const char* name = guest.put_string("user.color");
    char* buffer = guest.take(256);
    auto* args = guest.put(XattrArgs{reinterpret_cast<uint64_t>(buffer), 100, 0});
    EXPECT_EQ(run.call(kGetxattrat, AT_FDCWD, path, 0, name, args, sizeof *args), 5);
    run.expect_write(buffer, 5);
    EXPECT_EQ(run.call(kGetxattrat, AT_FDCWD, path, 0, name, args, 8), -EINVAL);
    EXPECT_GE(run.call(kListxattrat, AT_FDCWD, path, 0, buffer, 256), 11);
  });
}

TEST_F(SyscallFiles, OffsetsOfCopies) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd in(open_data());
    Fd out(open(dir_.path("copy").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    auto* from = guest.put<int64_t>(100);
    auto* to = guest.put<int64_t>(5);
    EXPECT_EQ(run.call(SYS_copy_file_range, int(in), from, int(out), to, 1000, 0), 1000);
    EXPECT_EQ(*from, 1100);
    EXPECT_EQ(*to, 1005);
    EXPECT_EQ(run.call(SYS_copy_file_range, int(in), from, int(out), nullptr, 10, 0), 10);
    EXPECT_EQ(run.call(SYS_sendfile, int(out), int(in), from, 100), 100);
    EXPECT_EQ(run.call(SYS_sendfile, int(out), int(in), nullptr, 100), 100);
    EXPECT_EQ(run.call(SYS_sendfile, int(out), int(in), guest.edge(4), 100), -EFAULT);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Fd read_end(ends[0]), write_end(ends[1]);
    EXPECT_EQ(run.call(SYS_splice, int(in), from, int(write_end), nullptr, 500, 0), 500);
    EXPECT_EQ(run.call(SYS_splice, int(read_end), nullptr, int(out), to, 200, 0), 200);
    EXPECT_EQ(run.call(SYS_splice, int(read_end), from, int(out), to, 200, 0), -ESPIPE);
  });
}

TEST_F(SyscallFiles, HandlesOfFiles) {
  struct Handle {
    uint32_t bytes;
    int32_t type;
    char data[128];
  };
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    const char* path = guest.put_string(dir_.path("data"));
    auto* handle = guest.put(Handle{0, 0, {}});
    int* mount = guest.take<int>();
    int64_t result = run.call(SYS_name_to_handle_at, AT_FDCWD, path, handle, mount, 0);
    if (result == -EOPNOTSUPP) return;
    EXPECT_EQ(result, -EOVERFLOW);
    EXPECT_GT(handle->bytes, 0u);
    EXPECT_EQ(run.call(SYS_name_to_handle_at, AT_FDCWD, path, handle, mount, 0), 0);
  });
}

TEST_F(SyscallFiles, LocksAndFlags) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(open(dir_.path("data").c_str(), O_RDWR));
    auto* lock = guest.put<struct flock>({.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 9});
    EXPECT_EQ(run.call(SYS_fcntl, int(fd), F_SETLK, lock), 0);
    EXPECT_EQ(run.call(SYS_fcntl, int(fd), F_GETLK, lock), 0);
    EXPECT_EQ(lock->l_type, F_UNLCK);
    Fd other(open(dir_.path("data").c_str(), O_RDWR));
    lock->l_type = F_WRLCK;
    lock->l_pid = 0;
    EXPECT_EQ(run.call(SYS_fcntl, int(fd), F_OFD_GETLK, lock), 0);
    EXPECT_GE(run.call(SYS_fcntl, int(fd), F_GETFL), O_RDWR);
    EXPECT_EQ(run.call(SYS_fcntl, int(fd), F_SETFD, FD_CLOEXEC), 0);
    uint64_t* hint = guest.take<uint64_t>();
    run.call(SYS_fcntl, int(fd), F_GET_RW_HINT, hint);
    int* owner = guest.take<int>(2);
    EXPECT_EQ(run.call(SYS_fcntl, int(fd), F_GETOWN_EX, owner), 0);
  });
}

TEST_F(SyscallFiles, MemoryOfFilesInCore) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    char* pages = guest.take(TwinGuest::kPage * 2);
    auto start = reinterpret_cast<uint64_t>(pages) & ~uint64_t{TwinGuest::kPage - 1};
    char* vector = guest.take(16);
    EXPECT_EQ(run.call(SYS_mincore, start, 3 * TwinGuest::kPage, vector), 0);
    EXPECT_EQ(run.call(SYS_mincore, start + 1, 3 * TwinGuest::kPage, vector), -EINVAL);
    EXPECT_EQ(run.call(SYS_mincore, start, 3 * TwinGuest::kPage, guest.inaccessible()), -EFAULT);
  });
}

TEST_F(SyscallFiles, NewPipes) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    int* ends = guest.take<int>(2);
    EXPECT_EQ(run.call(SYS_pipe2, ends, O_CLOEXEC), 0);
    run.expect_write(ends, 8);
    Fd read_end(ends[0]), write_end(ends[1]);
    EXPECT_EQ(run.call(SYS_pipe2, ends, 0x40000000), -EINVAL);
    EXPECT_EQ(run.call(SYS_pipe, guest.edge(4)), -EFAULT);
    ASSERT_EQ(write(write_end, "hello", 5), 5);
    char* buffer = guest.take(64);
    EXPECT_EQ(run.call(SYS_read, int(read_end), buffer, 64), 5);
    // A pipe whose reader faults halfway keeps what it could not deliver.
    ASSERT_EQ(write(write_end, "0123456789", 10), 10);
    run.call(SYS_read, int(read_end), guest.edge(4), 10);
    run.call(SYS_read, int(read_end), buffer, 64);
  });
}

} // namespace
} // namespace rdb::test
