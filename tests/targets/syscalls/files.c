// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls on files and directories: everything a program can learn from them and do to them.
#include "report.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>

static char buffer[64 << 10];

static void read_and_write(void) {
  int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0640);
  MUST(fd >= 0);
  for (size_t i = 0; i < sizeof buffer; ++i)
    buffer[i] = (char)('a' + i % 19);
  fact("write %s", outcome(write(fd, buffer, 20000)));
  fact("pwrite %s", outcome(pwrite(fd, "PATCH", 5, 100)));
  struct iovec out[3] = {{"one", 3}, {"", 0}, {"three", 5}};
  fact("writev %s", outcome(writev(fd, out, 3)));
  fact("pwritev %s", outcome(pwritev(fd, out, 3, 50)));
  fact("lseek %s", outcome(lseek(fd, 0, SEEK_SET)));
  memset(buffer, 0, sizeof buffer);
  said[0] = outcome(read(fd, buffer, 300));
  fact("read %s hash %016lx", said[0], hash(buffer, sizeof buffer));
  said[0] = outcome(pread(fd, buffer, sizeof buffer, 10));
  fact("pread %s hash %016lx", said[0], hash(buffer, sizeof buffer));
  struct iovec in[3] = {{buffer, 7}, {buffer + 1000, 500}, {buffer + 5, 4}};
  said[0] = outcome(readv(fd, in, 3));
  fact("readv %s hash %016lx", said[0], hash(buffer, sizeof buffer));
  said[0] = outcome(preadv(fd, in, 3, 19990));
  fact("preadv %s hash %016lx", said[0], hash(buffer, sizeof buffer));
  fact("preadv2 %s", outcome(preadv2(fd, in, 2, 3, 0)));
  fact("read at the end %s", outcome(pread(fd, buffer, 10, 1 << 20)));
  fact("read from a closed descriptor %s", outcome(read(999, buffer, 10)));
  fact("ftruncate %s", outcome(ftruncate(fd, 12345)));
  fact("fallocate %s", outcome(fallocate(fd, 0, 0, 30000)));
  said[0] = outcome(fsync(fd));
  said[1] = outcome(fdatasync(fd));
  fact("fsync %s fdatasync %s", said[0], said[1]);
  fact("posix_fadvise %d", posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
  fact("seek hole %s", outcome(lseek(fd, 0, SEEK_DATA)));
  close(fd);
}

static void status(void) {
  struct stat s;
  MUST(stat("data", &s) == 0);
  fact("stat mode %o size %ld links %ld", s.st_mode, (long)s.st_size, (long)s.st_nlink);
  changing("stat ino %lu mtime %ld.%09ld", s.st_ino, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  fact("symlink %s", outcome(symlink("data", "link")));
  MUST(lstat("link", &s) == 0);
  fact("lstat mode %o size %ld", s.st_mode, (long)s.st_size);
  fact("fstatat %s", outcome(fstatat(AT_FDCWD, "missing", &s, 0)));
  struct statx x;
  MUST(statx(AT_FDCWD, "data", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &x) == 0);
  fact("statx mode %o size %llu", x.stx_mode, x.stx_size);
  changing("statx ctime %lld.%09u", x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec);
  struct statfs fs;
  MUST(statfs(".", &fs) == 0);
  changing("statfs type %lx free %lu", fs.f_type, fs.f_bfree);
  ssize_t length = readlink("link", buffer, sizeof buffer);
  fact("readlink %.*s", (int)length, buffer);
  fact("readlink short %s", outcome(readlink("link", buffer, 2)));
  said[0] = outcome(link("data", "hard"));
  said[1] = outcome(rename("hard", "harder"));
  fact("link %s rename %s", said[0], said[1]);
  said[0] = outcome(access("data", R_OK));
  said[1] = outcome(access("missing", F_OK));
  fact("access %s %s", said[0], said[1]);
  fact("chmod %s", outcome(chmod("data", 0600)));
  struct timespec times[2] = {{1000000, 5}, {2000000, 7}};
  fact("utimensat %s", outcome(utimensat(AT_FDCWD, "data", times, 0)));
  MUST(stat("data", &s) == 0);
  fact("mtime %ld.%09ld", s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  fact("setxattr %s", setxattr("data", "user.k", "value", 5, 0) == 0 ? "done" : "not here");
  ssize_t size = getxattr("data", "user.k", buffer, 100);
  if (size > 0) fact("getxattr %.*s", (int)size, buffer);
  struct {
    struct file_handle handle;
    char room[128];
  } handle;
  handle.handle.handle_bytes = 128;
  int mount;
  long result = name_to_handle_at(AT_FDCWD, "data", &handle.handle, &mount, 0);
  changing("name_to_handle_at %s type %d bytes %u mount %d", outcome(result), handle.handle.handle_type,
           handle.handle.handle_bytes, mount);
}

static int by_name(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void directories(void) {
  said[0] = outcome(mkdir("sub", 0700));
  said[1] = outcome(mkdir("sub", 0700));
  fact("mkdir %s again %s", said[0], said[1]);
  for (int i = 0; i < 40; ++i) {
    char name[64];
    snprintf(name, sizeof name, "sub/entry-%02d-%.*s", i, i % 20, "xxxxxxxxxxxxxxxxxxxxxxxx");
    int fd = creat(name, 0600);
    MUST(fd >= 0);
    close(fd);
  }
  struct dirent** entries;
  int count = scandir("sub", &entries, NULL, by_name);
  fact("entries %d", count);
  for (int i = 0; i < count; ++i) {
    if (i % 10 == 0) fact("  %s type %d", entries[i]->d_name, entries[i]->d_type);
    free(entries[i]);
  }
  free(entries);
  fact("chdir %s", outcome(chdir("sub")));
  MUST(getcwd(buffer, sizeof buffer) != NULL);
  fact("cwd ends in %s", strrchr(buffer, '/'));
  changing("cwd %s", buffer);
  fact("getcwd short %s", getcwd(buffer, 3) == NULL ? strerrorname_np(errno) : "fits");
  fact("chdir back %s", outcome(chdir("..")));
  fact("rmdir %s", outcome(rmdir("sub")));
  fact("umask %o", umask(027));
}

static void copies(void) {
  int in = open("data", O_RDONLY), out = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
  MUST(in >= 0 && out >= 0);
  off_t from = 100, to = 7;
  fact("copy_file_range %s", outcome(copy_file_range(in, &from, out, &to, 1000, 0)));
  fact("offsets %ld %ld", (long)from, (long)to);
  said[0] = outcome(sendfile(out, in, &from, 500));
  fact("sendfile %s offset %ld", said[0], (long)from);
  int ends[2];
  MUST(pipe2(ends, O_CLOEXEC) == 0);
  fact("splice in %s", outcome(splice(in, &from, ends[1], NULL, 600, 0)));
  int other[2];
  MUST(pipe(other) == 0);
  fact("tee %s", outcome(tee(ends[0], other[1], 600, 0)));
  said[0] = outcome(splice(ends[0], NULL, out, &to, 600, 0));
  fact("splice out %s offset %ld", said[0], (long)to);
  memset(buffer, 0, 1000);
  said[0] = outcome(read(other[0], buffer, 1000));
  fact("read the tee %s hash %016lx", said[0], hash(buffer, 1000));
  said[0] = outcome(pread(out, buffer, 4000, 0));
  fact("copy hash %s %016lx", said[0], hash(buffer, 1600));
  close(in), close(out), close(ends[0]), close(ends[1]), close(other[0]), close(other[1]);
}

static void descriptors(void) {
  int fd = open("data", O_RDWR);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
  fact("setlk %s", outcome(fcntl(fd, F_SETLK, &lock)));
  said[0] = outcome(fcntl(fd, F_GETLK, &lock));
  fact("getlk %s type %d", said[0], lock.l_type);
  fact("flock %s", outcome(flock(fd, LOCK_EX | LOCK_NB)));
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 50);
  fact("dupfd %d flags %d", copy, fcntl(copy, F_GETFD));
  fact("dup2 %d dup3 %d", dup2(fd, 60), dup3(fd, 61, O_CLOEXEC));
  fact("getfl %x", fcntl(fd, F_GETFL));
  fact("setfl %s", outcome(fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND)));
  int block = 0;
  if (ioctl(fd, FIGETBSZ, &block) == 0) changing("block size %d", block);
  fact("close_range %s", outcome(syscall(SYS_close_range, 50, 61, 0)));
  fact("closed %s", outcome(fcntl(60, F_GETFD)));
  int memory = memfd_create("twin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  fact("memfd %s", outcome(ftruncate(memory, 5000)));
  said[0] = outcome(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK));
  fact("seals %s %x", said[0], fcntl(memory, F_GET_SEALS));
  fact("sealed %s", outcome(ftruncate(memory, 10)));
  close(memory), close(fd);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  char dir[] = "/tmp/sys_files.XXXXXX";
  MUST(mkdtemp(dir) != NULL && chdir(dir) == 0);
  read_and_write();
  status();
  directories();
  copies();
  descriptors();
  MUST(chdir("/") == 0);
  char command[100];
  snprintf(command, sizeof command, "%s/sub", dir);
  DIR* sub = opendir(command);
  for (struct dirent* entry; (entry = readdir(sub)) != NULL;)
    unlinkat(dirfd(sub), entry->d_name, 0);
  closedir(sub);
  fact("rmdir %s", outcome(rmdir(command)));
  DIR* all = opendir(dir);
  for (struct dirent* entry; (entry = readdir(all)) != NULL;)
    unlinkat(dirfd(all), entry->d_name, 0);
  closedir(all);
  fact("removed %s", outcome(rmdir(dir)));
  return 0;
}
