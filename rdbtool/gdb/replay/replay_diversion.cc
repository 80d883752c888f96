// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that gdb calls runs in a copy of the replay: see replay::Diversion.
#include "rdbtool/gdb/replay/replay_agent.h"

namespace rdb::gdb {

namespace {
constexpr uint64_t kStretch = 50'000'000; // instructions until the controller is asked whether to go on
} // namespace

Advanced ReplayAgent::run_diversion(const Advance& request) {
  using End = replay::Diversion::End;
  Advanced reply;
  set_stops({request.stops.breakpoints, {}, {}, {}});
  show_from_ = {};
  End end = diversion_.run(request.step ? 1 : kStretch);
  output_ += diversion_.take_output();
  auto stop = [&](StopKind kind, int64_t number = 0, std::string message = {}) {
    reply.kind = Advanced::Kind::stop;
    reply.stop = StopEvent{kind, replayer_.current().id, number, {}, std::move(message)};
  };
  switch (end.kind) {
  case End::Kind::limit:
    if (request.step) stop(StopKind::step);
    break;
  case End::Kind::address:
    stop(StopKind::breakpoint);
    break;
  case End::Kind::signal:
    // gdb lets functions return to the stack, which cannot be executed.
    if (stops_.has(replayer_.registers().rip))
      stop(StopKind::breakpoint);
    else
      stop(StopKind::signal, end.signal);
    break;
  case End::Kind::call:
    stop(StopKind::diversion_end, 0,
         "rdb: a function called from gdb cannot make this system call: " + end.text);
    break;
  }
  report(reply);
  return reply;
}

} // namespace rdb::gdb
