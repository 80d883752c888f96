// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests that move, and how a stop is told to gdb.
#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/gdb/protocol/register_file.h"
#include "rdbtool/gdb/protocol/session.h"
#include "rdbtool/gdb/protocol/signal_numbers.h"
#include "rdbtool/gdb/protocol/text_cursor.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <utility>

namespace rdb::gdb {

void Session::tell(std::string_view text) {
  // In pieces that fit into packets.
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 4096)))
    (*emit_)("O" + to_hex(text.substr(0, 4096)));
}

StopPoints Session::stop_points() const {
  using request::PointType;
  StopPoints stops;
  stops.syscalls = syscalls_;
  stops.silent_signals = silent_signals_;
  for (const auto& [key, conditions] : points_) {
    switch (key.type) {
    case PointType::software:
    case PointType::hardware: {
      // One address may carry both kinds; any of their conditions is enough.
      auto same = std::ranges::find(stops.breakpoints, key.address, &Breakpoint::address);
      if (same == stops.breakpoints.end())
        stops.breakpoints.push_back({key.address, conditions});
      else if (same->conditions.empty() || conditions.empty())
        same->conditions.clear();
      else
        same->conditions.insert(same->conditions.end(), conditions.begin(), conditions.end());
      break;
    }
    case PointType::write:
      stops.watchpoints.push_back({key.address, key.kind, WatchKind::write});
      break;
    case PointType::read:
      stops.watchpoints.push_back({key.address, key.kind, WatchKind::read});
      break;
    case PointType::access:
      stops.watchpoints.push_back({key.address, key.kind, WatchKind::access});
      break;
    }
  }
  return stops;
}

// The thread that the request is about: the one that steps, else the one named first.
ThreadId Session::resumed_thread(const request::Resume& request) {
  if (request.chosen_thread) return chosen(resume_thread_);
  auto action = std::ranges::find(request.actions, true, &request::ResumeAction::step);
  if (action == request.actions.end()) action = request.actions.begin();
  return chosen(action->thread);
}

// gdb takes a stop of the thread that it stepped as the end of the step, and says nothing about it.
StopEvent Session::make_pending_move(const request::Resume& request) {
  ThreadId thread = resumed_thread(request);
  Navigator::Result move = *std::exchange(pending_move_, std::nullopt);
  leave_diversion();
  move_failed_.clear();
  StopEvent stop{StopKind::sought, thread, 0, {}, {}};
  try {
    stop = navigator_.move(move, interrupt_);
  } catch (const std::exception& error) {
    move_failed_ = fmt::format("rdb: {}\n", visible_lines(failure_text(error)));
  }
  if (!target_.has_thread(thread)) ghost_ = thread;
  stop.thread = thread;
  return stop;
}

StopEvent Session::resume(const request::Resume& request) {
  if (pending_move_) return make_pending_move(request);
  ThreadId thread = resumed_thread(request);
  ghost_.reset();
  StopPoints stops = stop_points();
  RunRequest run;
  run.direction = request.direction;
  run.stops = &stops;
  run.interrupt = interrupt_;
  run.output = [this](std::string_view text) { tell(text); };
  auto action = std::ranges::find(request.actions, true, &request::ResumeAction::step);
  if (action != request.actions.end()) {
    run.step = thread;
    run.range_begin = action->range_begin;
    run.range_end = action->range_end;
  }
  if (in_call(thread)) {
    if (request.direction == Direction::forward) return run_call(thread, run);
    // There is no history in a copy.
    return {
        StopKind::history_start, thread, 0, {}, "rdb: a function called from gdb cannot be run backwards"};
  }
  leave_diversion();
  return target_.run(run);
}

std::string Session::answer(const request::Resume& request) {
  last_stop_ = resume(request);
  register_thread_ = resume_thread_ = {};
  if (!last_stop_.message.empty()) tell(last_stop_.message + "\n");
  return stop_reply(last_stop_);
}

// The part of a stop reply that says why, after the signal.
std::string Session::stop_reason(const StopEvent& stop) const {
  switch (stop.kind) {
  case StopKind::breakpoint: {
    GuestAddr pc(target_.registers(stop.thread).rip);
    for (const auto& [key, conditions] : points_)
      if (key.type == request::PointType::software && key.address == pc) return "swbreak:;";
    return "hwbreak:;";
  }
  case StopKind::watchpoint: {
    const char* name = stop.watch.kind == WatchKind::write  ? "watch"
                       : stop.watch.kind == WatchKind::read ? "rwatch"
                                                            : "awatch";
    return fmt::format("{}:{:x};", name, stop.watch.address.value);
  }
  case StopKind::syscall_entry:
    return fmt::format("syscall_entry:{:x};", stop.number);
  case StopKind::syscall_return:
    return fmt::format("syscall_return:{:x};", stop.number);
  case StopKind::history_start:
    return "replaylog:begin;";
  case StopKind::history_end:
    return "replaylog:end;";
  default:
    return "";
  }
}

std::string Session::stop_reply(const StopEvent& stop) {
  int signal = SIGTRAP;
  if (stop.kind == StopKind::signal) signal = static_cast<int>(stop.number);
  if (stop.kind == StopKind::interrupted) signal = SIGINT;
  std::string reply = fmt::format("T{:02x}", gdb_signal(signal));
  reply += stop_reason(stop);
  reply += fmt::format("thread:{};", thread_text(stop.thread));
  // The registers that gdb looks at before all others.
  ThreadRegisters registers = target_.registers(real(stop.thread));
  for (unsigned number : {kRegisterRbp, kRegisterRsp, kRegisterRip})
    reply += fmt::format("{:02x}:{};", number, to_hex(*register_bytes(registers, number)));
  return reply;
}

} // namespace rdb::gdb
