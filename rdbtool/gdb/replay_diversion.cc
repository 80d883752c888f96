// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A copy of the replay in which a function that gdb calls runs on its own. Nothing is recorded of it, so its
// system calls are done here: memory and the machine's own in full, output is shown, anything else ends it.
#include "rdbtool/gdb/replay_agent.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/describe.h"

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

namespace rdb::gdb {

namespace {
constexpr uint64_t kStretch = 50'000'000; // instructions until the controller is asked whether to go on
constexpr size_t kLargestOutput = 1 << 20;
bool is_output(uint64_t descriptor) {
  return descriptor == 1 || descriptor == 2;
}
} // namespace

// What a function prints is shown when it stops.
int64_t ReplayAgent::show(uint64_t from, uint64_t size) {
  std::string text(std::min<size_t>(size, kLargestOutput), '\0');
  text.resize(replayer_.space().read(GuestAddr(from), text.data(), text.size()));
  output_ += text;
  return static_cast<int64_t>(text.size());
}

// What the call cannot do, if it cannot be done.
std::optional<std::string> ReplayAgent::diverted_call() {
  guest::SystemCall call = replayer_.current_call();
  const SyscallArgs& args = call.arguments;
  auto done = [this](int64_t result) {
    replayer_.registers().gpr[engine::RAX] = static_cast<uint64_t>(result);
    return std::nullopt;
  };
  if (auto own = replayer_.internal_call(call)) return done(*own);
  switch (call.number) {
  case SYS_write:
    if (is_output(args[0])) return done(show(args[1], args[2]));
    break;
  case SYS_writev: {
    int64_t total = 0;
    for (uint64_t i = 0; is_output(args[0]) && i < std::min<uint64_t>(args[2], IOV_MAX); ++i) {
      iovec part{};
      replayer_.space().read(GuestAddr(args[1] + i * sizeof part), &part, sizeof part);
      total += show(reinterpret_cast<uint64_t>(part.iov_base), part.iov_len);
    }
    if (is_output(args[0])) return done(total);
    break;
  }
  // Output goes to something like a terminal, so that the C library shows it line by line.
  case SYS_newfstatat:
  case SYS_fstat: {
    bool of_descriptor = call.number == SYS_fstat || (args[3] & AT_EMPTY_PATH);
    if (!of_descriptor || args[0] > 2) break;
    struct stat terminal{};
    terminal.st_mode = S_IFCHR | 0600;
    terminal.st_blksize = 1024;
    GuestAddr to(args[call.number == SYS_fstat ? 1 : 2]);
    return done(replayer_.space().write(to, &terminal, sizeof terminal) == sizeof terminal ? 0 : -EFAULT);
  }
  case SYS_ioctl:
    if (args[0] <= 2 && args[1] == TCGETS) return done(0);
    break;
  case SYS_mmap:
    if (!(args[3] & MAP_ANONYMOUS)) break;
    [[fallthrough]];
  case SYS_munmap:
  case SYS_mprotect:
  case SYS_mremap:
  case SYS_brk:
  case SYS_madvise:
    if (auto result = replayer_.space().call(call.number, args)) return done(*result);
    break;
  case SYS_getrandom: { // malloc's first call makes it
    Bytes bytes(std::min<size_t>(args[1], 4096));
    ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0) return done(-errno);
    return done(static_cast<int64_t>(
        replayer_.space().write(GuestAddr(args[0]), bytes.data(), static_cast<size_t>(count))));
  }
  case SYS_clock_gettime: {
    timespec now{};
    if (clock_gettime(static_cast<clockid_t>(args[0]), &now)) return done(-errno);
    return done(replayer_.space().write(GuestAddr(args[1]), &now, sizeof now) == sizeof now ? 0 : -EFAULT);
  }
  case SYS_futex: // nobody else runs
    return done(0);
  case SYS_getpid:
  case SYS_gettid:
    return done(replayer_.identity().pid);
  default:
    break;
  }
  return describe_call(static_cast<uint64_t>(call.number), args, std::nullopt,
                       guest::SpaceView(replayer_.space()));
}

Advanced ReplayAgent::run_diversion(const Advance& request) {
  Advanced reply;
  set_stops({request.stops.breakpoints, {}, {}, {}});
  show_from_ = {};
  auto finish = [&](StopKind kind, int64_t number = 0, std::string message = {}) {
    reply.kind = Advanced::Kind::stop;
    reply.stop = Stop{kind, replayer_.current().id, number, {}, std::move(message)};
    report(reply);
    return reply;
  };
  for (;;) {
    engine::Stop stop = replayer_.run_guest(request.step ? 1 : kStretch);
    switch (stop.reason) {
    case engine::StopReason::limit:
      if (request.step) return finish(StopKind::step);
      report(reply);
      return reply;
    case engine::StopReason::address:
      return finish(StopKind::breakpoint);
    case engine::StopReason::system_call:
      if (auto refused = diverted_call())
        return finish(StopKind::diversion_end, 0,
                      "rdb: a function called from gdb cannot make this system call: " + *refused);
      break;
    case engine::StopReason::input:
      replayer_.engine().finish_input(replayer_.engine().execute_input());
      break;
    case engine::StopReason::fault:
      // gdb lets functions return to the stack, which cannot be executed.
      if (stops_.contains(replayer_.registers().rip)) return finish(StopKind::breakpoint);
      return finish(StopKind::signal, stop.fault.signal);
    case engine::StopReason::access:
    case engine::StopReason::written:
    case engine::StopReason::interrupted:
      break;
    }
    if (request.step) return finish(StopKind::step);
  }
}

} // namespace rdb::gdb
