// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/own_memory.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/file_size_limit.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdb {
namespace {

// The kernel copies between memory and files, and faults are errors of the call then. So a file in memory
// that is mapped here serves: to read, write to the file; to write, read from the file. A forked process
// makes one of its own, or it would share the parent's.
class FileWindow {
public:
  void use() { in_use_ = true; }
  bool in_use() const { return in_use_; }

  size_t read(const void* from, void* to, size_t size) {
    return in_parts(size, [&](size_t done, size_t part) {
      ssize_t n = pwrite(fd_, static_cast<const char*>(from) + done, part, 0);
      if (n > 0) std::memcpy(static_cast<char*>(to) + done, memory_, static_cast<size_t>(n));
      return n;
    });
  }
  size_t write(void* to, const void* from, size_t size) {
    return in_parts(size, [&](size_t done, size_t part) {
      std::memcpy(memory_, static_cast<const char*>(from) + done, part);
      return pread(fd_, static_cast<char*>(to) + done, part, 0);
    });
  }

private:
  static constexpr size_t kSize = 64 << 10;

  template <class Copy>
  size_t in_parts(size_t size, Copy copy) {
    open_own();
    size_t done = 0;
    while (done < size) {
      size_t part = std::min(size - done, kSize);
      ssize_t n = copy(done, part);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

  void open_own() {
    pid_t self = getpid();
    if (owner_ == self) return;
    if (owner_ != 0) {
      munmap(memory_, kSize);
      close(fd_);
    }
    fd_ = memfd_create("rdb", MFD_CLOEXEC);
    if (fd_ < 0 || !enlarge())
      throw std::runtime_error(fmt::format("no file in memory can be made: {}", std::strerror(errno)));
    memory_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory_ == MAP_FAILED)
      throw std::runtime_error(fmt::format("no memory for copies: {}", std::strerror(errno)));
    owner_ = self;
  }

  bool enlarge() const {
    WithoutSigxfsz guard;
    if (ftruncate(fd_, kSize) == 0) return true;
    if (errno == EFBIG) guard.exceeded();
    return false;
  }

  bool in_use_ = false;
  pid_t owner_ = 0;
  int fd_ = -1;
  void* memory_ = nullptr;
};

FileWindow window;

size_t copied(ssize_t result) {
  return result < 0 ? 0 : static_cast<size_t>(result);
}

} // namespace

size_t read_own_memory(const void* from, void* to, size_t size) {
  if (window.in_use()) return window.read(from, to, size);
  iovec local{to, size};
  iovec own{const_cast<void*>(from), size};
  return copied(process_vm_readv(getpid(), &local, 1, &own, 1, 0));
}

size_t write_own_memory(void* to, const void* from, size_t size) {
  if (window.in_use()) return window.write(to, from, size);
  iovec local{const_cast<void*>(from), size};
  iovec own{to, size};
  return copied(process_vm_writev(getpid(), &local, 1, &own, 1, 0));
}

void copy_through_file() {
  window.use();
}

} // namespace rdb
