// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A copy of the replay in which a function that gdb calls runs on its own. Nothing is recorded of it, so its
// system calls are done here: memory and the machine's own in full, output is shown, anything else ends it.
#include "rdbtool/gdb/replay_agent.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/describe.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

namespace rdb::gdb {

namespace {
constexpr uint64_t kStretch = 50'000'000; // instructions until the controller is asked whether to go on
constexpr size_t kLargestOutput = 1 << 20;
} // namespace

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
    if (args[0] == 1 || args[0] == 2) {
      std::string text(std::min<size_t>(args[2], kLargestOutput), '\0');
      text.resize(replayer_.space().read(GuestAddr(args[1]), text.data(), text.size()));
      output_ += text;
      return done(static_cast<int64_t>(text.size()));
    }
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
    engine::Stop stop = replayer_.engine().run(request.step ? 1 : kStretch);
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
    case engine::StopReason::fault: {
      engine::Stop after;
      if (replayer_.write_to_code(stop.fault, after)) break;
      // gdb lets functions return to the stack, which cannot be executed.
      if (stops_.contains(replayer_.registers().rip)) return finish(StopKind::breakpoint);
      return finish(StopKind::signal, stop.fault.signal);
    }
    case engine::StopReason::access:
    case engine::StopReason::interrupted:
      break;
    }
    if (request.step) return finish(StopKind::step);
  }
}

} // namespace rdb::gdb
