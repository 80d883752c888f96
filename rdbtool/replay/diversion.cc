// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/diversion.h"

#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/replay/replayer.h"
#include "rdbtool/syscalls/call_properties.h"
#include "rdbtool/syscalls/describe.h"

#include <algorithm>
#include <asm/termbits.h>
#include <cerrno>
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rdb::replay {

namespace {

constexpr size_t kLargestOutput = 1 << 20;

bool is_output(uint64_t descriptor) {
  return descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO;
}

} // namespace

std::string Diversion::take_output() {
  return std::exchange(output_, {});
}

int64_t Diversion::print(uint64_t from, uint64_t size) {
  std::string text(std::min<size_t>(size, kLargestOutput), '\0');
  text.resize(replayer_.space().read(GuestAddr(from), text.data(), text.size()));
  output_ += text;
  return static_cast<int64_t>(text.size());
}

int64_t Diversion::print_vectors(uint64_t vectors, uint64_t count) {
  int64_t total = 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, IOV_MAX); ++i) {
    iovec part{};
    replayer_.space().read(GuestAddr(vectors + i * sizeof part), &part, sizeof part);
    total += print(reinterpret_cast<uint64_t>(part.iov_base), part.iov_len);
  }
  return total;
}

std::optional<int64_t> Diversion::perform(const guest::SystemCall& call) {
  const SyscallArgs& args = call.arguments;
  guest::AddressSpace& space = replayer_.space();
  auto store = [&](uint64_t to, const void* from, size_t size) -> int64_t {
    return space.write(GuestAddr(to), from, size) == size ? 0 : -EFAULT;
  };
  if (auto own = replayer_.internal_call(call)) return own;
  const CallProperties& properties = properties_of(call.number);
  if (properties.position == FilePosition::own && is_output(args[0])) {
    if (properties.writes == DataForm::buffer) return print(args[1], args[2]);
    if (properties.writes == DataForm::vectors) return print_vectors(args[1], args[2]);
  }
  bool maps_more = properties.mapping == MappingChange::attach ||
                   (properties.mapping == MappingChange::map && !(args[3] & MAP_ANONYMOUS));
  if (properties.mapping != MappingChange::none && !maps_more) return space.call(call.number, args);
  switch (call.number) {
  // Output goes to something like a terminal, so that the C library shows it line by line.
  case SYS_newfstatat:
  case SYS_fstat: {
    bool of_descriptor = call.number == SYS_fstat || (args[3] & AT_EMPTY_PATH);
    if (!of_descriptor || args[0] > STDERR_FILENO) return std::nullopt;
    struct stat terminal{};
    terminal.st_mode = S_IFCHR | 0600;
    terminal.st_blksize = 1024;
    return store(args[call.number == SYS_fstat ? 1 : 2], &terminal, sizeof terminal);
  }
  case SYS_ioctl:
    if (args[0] <= STDERR_FILENO && args[1] == TCGETS) return 0;
    return std::nullopt;
  case SYS_getrandom: { // malloc's first call makes it
    std::vector<std::byte> bytes(std::min<size_t>(args[1], 4096));
    ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0) return -errno;
    return static_cast<int64_t>(space.write(GuestAddr(args[0]), bytes.data(), static_cast<size_t>(count)));
  }
  case SYS_clock_gettime: {
    timespec now{};
    if (clock_gettime(static_cast<clockid_t>(args[0]), &now) != 0) return -errno;
    return store(args[1], &now, sizeof now);
  }
  case SYS_futex: // nobody else runs
    return 0;
  case SYS_getpid:
  case SYS_gettid:
    return replayer_.identity().pid;
  default:
    return std::nullopt;
  }
}

Diversion::End Diversion::run(uint64_t instructions) {
  Time end = Time(replayer_.now() + instructions);
  for (;;) {
    engine::Stop stop = replayer_.run_guest(end - replayer_.now());
    switch (stop.reason) {
    case engine::StopReason::limit:
      return {End::Kind::limit, 0, {}};
    case engine::StopReason::address:
      return {End::Kind::address, 0, {}};
    case engine::StopReason::system_call: {
      guest::SystemCall call = replayer_.current_call();
      std::optional<int64_t> result = perform(call);
      if (!result)
        return {End::Kind::call, 0,
                describe_call(static_cast<uint64_t>(call.number), call.arguments, std::nullopt,
                              guest::SpaceView(replayer_.space()))};
      replayer_.registers().gpr[engine::RAX] = static_cast<uint64_t>(*result);
      break;
    }
    case engine::StopReason::input:
      replayer_.engine().finish_input(replayer_.engine().execute_input());
      break;
    case engine::StopReason::fault:
      return {End::Kind::signal, stop.fault.signal, {}};
    case engine::StopReason::access:
    case engine::StopReason::written:
    case engine::StopReason::interrupted:
      break;
    }
    if (replayer_.now() >= end) return {End::Kind::limit, 0, {}};
  }
}

} // namespace rdb::replay
