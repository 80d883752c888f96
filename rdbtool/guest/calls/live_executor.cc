// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/live_executor.h"

#include "rdbtool/guest/calls/open_call.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/threads/baton.h"
#include "rdbtool/syscalls/call_properties.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <vector>

namespace rdb::guest {
namespace {

// The file that the call may have cut off. False if it is no such call.
bool find_cut_off(const SystemCall& call, int64_t result, AddressSpace& space, struct stat& info) {
  const CallProperties& properties = properties_of(call.number);
  if (!properties.truncates) return false;
  if (properties.opens)
    return open_flags(call, space) & O_TRUNC && fstat(static_cast<int>(result), &info) == 0;
  if (properties.changed_fd_arg != kNoArgument)
    return fstat(static_cast<int>(call.arguments[static_cast<size_t>(properties.changed_fd_arg)]), &info) ==
           0;
  return stat(GuestAddr(call.arguments[static_cast<size_t>(properties.path_arg)]).ptr<const char>(), &info) ==
         0;
}

// The file may be mapped privately, and have been executed: what is cut off is not there any more.
void forget_cut_off_code(AddressSpace& space, const struct stat& info) {
  std::vector<Mapping> mapped;
  for (const auto& [begin, mapping] : space.mappings())
    if (mapping.inode == info.st_ino && mapping.device == info.st_dev) mapped.push_back(mapping);
  for (const Mapping& mapping : mapped)
    space.forget_code(mapping.begin, mapping.end);
}

} // namespace

int64_t LiveExecutor::execute(Machine& machine, const SystemCall& call, const CallShape& shape,
                              Baton& baton) {
  if (shape.call_class == CallClass::refused) return -shape.error;
  auto in_kernel = [&] {
    return baton.call_kernel(shape, call.arguments, baton.best_for(shape, call.arguments));
  };
  int64_t result = in_kernel();
  // A page that is read-only for the sake of translated code looks bad to the kernel.
  if (result == -EFAULT && machine.space().release_all_code_pages()) result = in_kernel();
  struct stat cut_off;
  if (result >= 0 && find_cut_off(call, result, machine.space(), cut_off))
    forget_cut_off_code(machine.space(), cut_off);
  return result;
}

int64_t LiveExecutor::deliver(Machine& machine, const SystemCall&, const ComputedAnswer& answer) {
  return write_answer(machine.space(), answer);
}

engine::Engine::InputResult LiveExecutor::execute_instruction(Machine& machine, engine::InputInstruction) {
  return machine.engine().execute_input();
}

engine::FastSyscall LiveExecutor::fast_path(Machine& machine, const SeccompFilters& filters) {
  unrecorded_ = {&machine, &filters};
  return make_fast_syscall(unrecorded_);
}

} // namespace rdb::guest
