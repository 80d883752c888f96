// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/output_order.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace rdb::record {
namespace {

bool may_block(const guest::SystemCall& call, int fd) {
  uint64_t flags = 0;
  if (call.number == SYS_sendto || call.number == SYS_sendmmsg) flags = call.arguments[3];
  if (call.number == SYS_sendmsg) flags = call.arguments[2];
  return !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

} // namespace

void OutputTarget::find(int fd, Descriptors& descriptors, const guest::Machine& machine, bool keeps_baton) {
  reset();
  fd_ = fd;
  Descriptors::Facts facts = descriptors.facts(fd, machine.space());
  stream_ = facts.stream;
  if (machine.threads().size() == 1) return;
  // With a descriptor that is closed go all locks (fcntl) that the process has on a file: none for those.
  bool may_have_locks = facts.regular && facts.stream == trace::OutputStream::none;
  if (may_have_locks) return;
  if (descriptors.changing() || (!keeps_baton && facts.may_be_moved)) hold(descriptors);
}

void OutputTarget::hold(Descriptors& descriptors) {
  if (copy_ != nullptr) return;
  bool sure = !descriptors.changing();
  copy_ = descriptors.copy(fd_);
  if (!sure) stream_ = descriptors.stream(fd_, copy_->fd());
}

void OutputTarget::reset() {
  copy_.reset();
  stream_ = trace::OutputStream::none;
}

int64_t OutputOrder::Turn::begin(const guest::SystemCall& call, size_t argument, Descriptors& descriptors,
                                 bool keeps_baton) {
  target_.find(static_cast<int>(call.arguments[argument]), descriptors, machine_, keeps_baton);
  if (target_.stream() == trace::OutputStream::none || machine_.threads().size() == 1) return 0;
  Line& line = order_.lines_[descriptors.file_of(target_.stream())];
  if (line.writer.thread != nullptr) target_.hold(descriptors);
  return enter(line, {&machine_.current(), may_block(call, target_.descriptor())});
}

int64_t OutputOrder::Turn::enter(Line& line, const Contender& self) {
  if (line.writer.thread == nullptr) {
    line.writer = self;
  } else if (line.writer.may_block && !self.may_block) {
    // It must not wait, and there may be no room until the one before is done.
    return -EAGAIN;
  } else {
    line.waiting.push_back(self);
    int64_t result = baton_.rest();
    if (result != 0) {
      std::erase_if(line.waiting, [&](const Contender& other) { return other.thread == self.thread; });
      return result;
    }
    RDB_CHECK(line.writer.thread == self.thread);
  }
  line_ = &line;
  return 0;
}

OutputOrder::Turn::~Turn() {
  // When the process ends around them all, nobody waits for anybody.
  if (baton_.is_process_over()) return;
  target_.reset();
  if (line_ == nullptr) return;
  line_->writer = {};
  if (line_->waiting.empty()) return;
  line_->writer = line_->waiting.front();
  line_->waiting.pop_front();
  baton_.resume(*line_->writer.thread);
}

} // namespace rdb::record
