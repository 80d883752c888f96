// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/memory_calls.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/host/hidden_host.h"
#include "rdbtool/guest/memory/growing_memory.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// The file that a child by vfork has mapped, and that this process may not have open.
int open_again(const VforkMemory::Call& made) {
  bool writes = made.call.arguments[3] & MAP_SHARED && made.call.arguments[2] & PROT_WRITE;
  int fd = open(made.file.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_dev != made.device || info.st_ino != made.inode)
    limit("a child by vfork that maps a file which has no name any more: {}", made.file);
  return fd;
}

} // namespace

int64_t MemoryCalls::call(const SystemCall& call) {
  AddressSpace& space = machine_.space();
  if (hidden_host_.refuses_execution(space, call)) return -EACCES;
  if (int error = limits_.check_memory_call(space, call))
    return call.number == SYS_brk ? static_cast<int64_t>(space.brk_end()) : error;
  listener_.on_memory_call(machine_, call);
  std::optional<int64_t> result = space.call(call.number, call.arguments);
  if (!result) bug("memory call {} is not known", call.number);
  if (parent_ && *result >= 0) parent_->note(call, *result, space);
  bool of_file = call.number == SYS_mmap && !(call.arguments[3] & MAP_ANONYMOUS);
  if (*result >= 0 && (of_file || call.number == SYS_shmat))
    listener_.on_mapping(machine_, *space.find(static_cast<uint64_t>(*result)),
                         of_file ? static_cast<int>(call.arguments[4]) : -1);
  return *result;
}

bool MemoryCalls::grow_for(const engine::Fault& fault) {
  std::optional<MadeCall> made = grow(machine_.space(), limits_, fault);
  if (!made) return false;
  if (parent_) parent_->note(made->call, made->result, machine_.space());
  listener_.on_remapping(machine_, made->call, made->result);
  return true;
}

void MemoryCalls::refuse_growth(GuestAddr address, const char* what) const {
  guest::refuse_growth(machine_.space(), limits_, address, what);
}

void MemoryCalls::hand_back() {
  if (parent_) parent_->hand_back(machine_.space());
}

void MemoryCalls::take_from_child(const VforkMemory& child) {
  AddressSpace& space = machine_.space();
  for (const VforkMemory::Call& made : child.calls()) {
    SystemCall call = made.call;
    int fd = made.file.empty() ? -1 : open_again(made);
    if (fd >= 0) call.arguments[4] = static_cast<uint64_t>(fd);
    int64_t result = space.call(call.number, call.arguments).value_or(-EINVAL);
    if (result != made.result)
      limit("a child by vfork that changes mappings (system call {}): its parent gets {:#x} and not {:#x}",
            call.number, result, made.result);
    if (fd >= 0 || call.number == SYS_shmat)
      listener_.on_mapping(machine_, *space.find(static_cast<uint64_t>(result)), fd);
    else
      listener_.on_remapping(machine_, call, result);
    if (fd >= 0) close(fd);
  }
  for (const ComputedAnswer::Write& write : child.take(space)) {
    if (space.change(write.to, write.bytes.data(), write.bytes.size()) != write.bytes.size())
      bug("what a child by vfork has written to {:#x} could not be put there", write.to.value);
    listener_.on_memory_write(machine_, write.to, write.bytes.data(), write.bytes.size());
  }
}

} // namespace rdb::guest
