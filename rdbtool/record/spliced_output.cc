// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/spliced_output.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host/host_descriptors.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

// Which arguments say where the bytes come from.
struct Route {
  int64_t number;
  uint8_t from;
  uint8_t from_offset; // a pointer to the offset; null: the descriptor's own
};
constexpr Route kRoutes[] = {
    {SYS_sendfile, 1, 2},
    {SYS_splice, 0, 1},
    {SYS_copy_file_range, 0, 1},
};

} // namespace

PassedOutput::~PassedOutput() {
  for (int fd : pipe_)
    if (fd >= 0) guest::close_own_descriptor(fd);
}

int64_t PassedOutput::before(guest::Machine& machine, RecordedBaton& baton, const guest::SystemCall& call,
                             trace::OutputStream stream, SyscallArgs& arguments) {
  stream_ = trace::OutputStream::none;
  const auto* route = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                                   [&](const Route& r) { return r.number == call.number; });
  if (route == std::end(kRoutes)) return 0;
  const SyscallArgs& a = call.arguments;
  stream_ = stream;
  if (stream_ == trace::OutputStream::none) return 0;
  source_ = static_cast<int>(a[route->from]);
  struct stat info;
  if (fstat(source_, &info) != 0) return 0;
  from_pipe_ = S_ISFIFO(info.st_mode);
  if (from_pipe_) return copy_pipe(baton, source_, a[5], arguments);
  if (a[route->from_offset] != 0)
    machine.space().read(GuestAddr(a[route->from_offset]), &offset_, sizeof offset_);
  else
    offset_ = static_cast<uint64_t>(lseek(source_, 0, SEEK_CUR));
  return 0;
}

int64_t PassedOutput::copy_pipe(RecordedBaton& baton, int fd, uint64_t flags, SyscallArgs& arguments) {
  if (pipe_[0] < 0) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) limit("no descriptors are left to copy what a pipe passes on");
    for (int& end : pipe_)
      end = guest::move_out_of_reach(end);
  }
  const SyscallInfo& tee = *find_syscall(SYS_tee);
  SyscallArgs tee_arguments = {
      static_cast<uint64_t>(fd), static_cast<uint64_t>(pipe_[1]), arguments[4], flags, 0, 0};
  CallShape shape = shape_of(tee, tee_arguments);
  int64_t copied = baton.call_kernel(shape, tee_arguments, baton.best_for(shape, tee_arguments));
  if (copied <= 0) {
    // Nothing will be moved either.
    stream_ = trace::OutputStream::none;
    return copied;
  }
  arguments[4] = static_cast<uint64_t>(copied);
  source_ = pipe_[0];
  bytes_.resize(static_cast<size_t>(copied));
  return 0;
}

const std::vector<uint8_t>& PassedOutput::after(int64_t result) {
  // All that was copied leaves the pipe again, whatever became of the original.
  if (from_pipe_) {
    ssize_t n = read(source_, bytes_.data(), bytes_.size());
    RDB_CHECK(n == static_cast<ssize_t>(bytes_.size()));
    bytes_.resize(static_cast<size_t>(std::max<int64_t>(result, 0)));
    return bytes_;
  }
  bytes_.resize(static_cast<size_t>(std::max<int64_t>(result, 0)));
  ssize_t n = bytes_.empty() ? 0 : pread(source_, bytes_.data(), bytes_.size(), static_cast<off_t>(offset_));
  bytes_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return bytes_;
}

} // namespace rdb::record
