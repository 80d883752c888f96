// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Going forwards in stretches, with snapshots in between; going backwards from snapshot to snapshot.
#include "rdbtool/base/error.h"
#include "rdbtool/gdb/replay/replay_target.h"

#include <algorithm>
#include <chrono>

namespace rdb::gdb {

namespace {

using Clock = std::chrono::steady_clock;

// How far to run before looking whether to go on: short enough for Ctrl-C, long enough to cost nothing.
// How long that takes depends on what is looked for on the way.
class Pace {
public:
  uint64_t stretch() {
    auto now = Clock::now();
    auto took = now - last_;
    if (last_ != Clock::time_point() && took < std::chrono::milliseconds(40)) stretch_ *= 2;
    if (took > std::chrono::milliseconds(160)) stretch_ = std::max(stretch_ / 2, kShortest);
    last_ = now;
    return stretch_ = std::min(stretch_, kLongest);
  }

private:
  static constexpr uint64_t kShortest = 1'000'000, kLongest = 400'000'000;
  uint64_t stretch_ = 4 * kShortest;
  Clock::time_point last_;
};

// Going back to a place, a snapshot is left this far before it: the next steps back begin there.
constexpr uint64_t kNear = 20'000;

Position later(Position position, uint64_t instructions) {
  Time time(position.time.value > UINT64_MAX - instructions ? UINT64_MAX
                                                            : position.time.value + instructions);
  return {time, UINT32_MAX};
}

} // namespace

StopEvent ReplayTarget::here_as(StopKind kind, std::string message) {
  return {kind, thread_, 0, {}, std::move(message)};
}

// With a new process. False if that does not come there, either.
bool ReplayTarget::go_again(Position position) try {
  here_ = snapshots_.at_or_before(position);
  worker_ = snapshots_.copy_of(here_);
  return go_to(position);
} catch (const std::exception&) {
  return false;
}

// The process that failed is in no state that anybody could look at. So another one takes its place, at the
// last position that all was well at.
void ReplayTarget::give_up_move(const std::exception& error) {
  Failure failure = explained(error);
  if (!failure_) failure_ = failure;
  Position last = here_;
  std::optional<Position> good = worker_.failed_after();
  bool there = good && last < *good && go_again(*good);
  // If there is no process in the end, whoever asks it for something is told that it is gone.
  if (there || go_again(last))
    failure.text +=
        fmt::format(". The program is at time {} now, the last position before that", here_.time.value);
  failure.raise();
}

StopEvent ReplayTarget::run(const RunRequest& request) try {
  StopEvent stop = request.direction == Direction::forward ? run_forward(request) : run_backward(request);
  snapshots_.rest(here_, worker_);
  return stop;
} catch (const std::exception& error) {
  give_up_move(error);
}

StopEvent ReplayTarget::run_forward(const RunRequest& request) {
  Advance advance;
  if (request.stops) advance.stops = *request.stops;
  advance.step = request.step;
  advance.range_begin = request.range_begin;
  advance.range_end = request.range_end;
  Pace pace;
  for (;;) {
    advance.limit = later(here_, pace.stretch());
    advance.show_from = shown_until_;
    Advanced reply = worker_.advance(advance);
    take(reply);
    shown_until_ = std::max(shown_until_, here_);
    if (request.output && !reply.output.empty()) request.output(reply.output);
    if (reply.kind == Advanced::Kind::stop) return *reply.stop;
    if (reply.kind == Advanced::Kind::end)
      return here_as(StopKind::history_end, "rdb: the recording ends here: " + end_text());
    if (request.interrupt && request.interrupt->requested()) return here_as(StopKind::interrupted);
    snapshots_.add_if_due(here_, worker_);
  }
}

// The last stop in [from, end), where `from` is a snapshot's position.
std::optional<std::pair<Position, StopEvent>>
ReplayTarget::last_stop(Position from, Position end, const RunRequest& request, bool& interrupted) {
  ReplayProcess scout = snapshots_.copy_of(from);
  Advance advance;
  if (request.stops) advance.stops = *request.stops;
  advance.step = request.step;
  advance.last_stop = true;
  std::optional<std::pair<Position, StopEvent>> last;
  Position at = from;
  Pace pace;
  while (at < end) {
    advance.limit = std::min(later(at, pace.stretch()), end);
    Advanced reply = scout.advance(advance);
    if (reply.stop) last = {reply.stop_at, *reply.stop};
    if (reply.kind == Advanced::Kind::end || reply.here == at) break;
    at = reply.here;
    if (request.interrupt && request.interrupt->requested()) {
      interrupted = true;
      return std::nullopt;
    }
    if (at < end) snapshots_.add_if_due(at, scout);
  }
  return last;
}

StopEvent ReplayTarget::run_backward(const RunRequest& request) {
  if (here_ <= first_) return here_as(StopKind::history_start);
  Position end = here_;
  if (request.step)
    if (auto stop = step_back(*request.step, request.stops ? *request.stops : StopPoints())) return *stop;
  return go_back(request, end);
}

StopEvent ReplayTarget::go_back(const RunRequest& request, Position end) {
  bool interrupted = false;
  while (auto from = snapshots_.before(end)) {
    auto found = last_stop(*from, end, request, interrupted);
    if (interrupted) return here_as(StopKind::interrupted);
    if (found) {
      go_to(found->first);
      if (!has_thread(found->second.thread)) found->second.thread = thread_;
      return found->second;
    }
    end = *from;
  }
  go_to(first_);
  return here_as(StopKind::history_start);
}

// Undoes one instruction, if it was this thread's; nothing if it was another's. What lies between (inputs of
// this time, and the instruction itself for watchpoints) may stop the run before that.
std::optional<StopEvent> ReplayTarget::step_back(ThreadId thread, const StopPoints& stops) {
  Position end = here_;
  if (end.time.value == first_.time.value) {
    go_to(first_);
    return here_as(StopKind::history_start);
  }
  go_to({end.time - 1, UINT32_MAX});
  Position start = here_;
  if (thread_ != thread) return std::nullopt;
  StopPoints others = stops;
  others.breakpoints.clear();
  if (!others.watchpoints.empty() || others.syscalls.enabled || end.ordinal > 0) {
    ReplayProcess scout = worker_.fork_copy();
    Advance advance;
    advance.stops = others;
    advance.last_stop = true;
    advance.limit = end;
    Advanced reply = scout.advance(advance);
    if (reply.stop) {
      if (reply.stop_at != start) go_to(reply.stop_at);
      return reply.stop;
    }
  }
  return here_as(StopKind::step);
}

StopEvent ReplayTarget::seek(Position position, InterruptSource* interrupt) try {
  bool there = go_to(std::max(position, first_), interrupt);
  snapshots_.rest(here_, worker_);
  return here_as(there ? StopKind::sought : StopKind::interrupted);
} catch (const std::exception& error) {
  give_up_move(error);
}

bool ReplayTarget::go_to(Position position, InterruptSource* interrupt) {
  Position base = snapshots_.at_or_before(position);
  bool ahead = here_ <= position;
  if (!ahead || base > here_) {
    worker_ = snapshots_.copy_of(base);
    here_ = base;
  }
  // The first stretch ends where the next steps back begin.
  std::optional<Position> near;
  if (!ahead && position.time.value - here_.time.value > 4 * kNear)
    near = {position.time - kNear, UINT32_MAX};
  Advance advance;
  Pace pace;
  bool interrupted = false;
  while (here_ < position && !interrupted) {
    advance.limit = std::min(later(here_, pace.stretch()), near.value_or(position));
    Advanced reply = worker_.advance(advance);
    bool moved = reply.here != here_;
    take(reply);
    if (reply.kind == Advanced::Kind::end || !moved) break;
    if (near && here_.time >= near->time) {
      snapshots_.add(here_, worker_);
      near.reset();
    } else if (here_.time < position.time) {
      snapshots_.add_if_due(here_, worker_);
    }
    interrupted = interrupt && interrupt->requested();
  }
  // Where it starts is known only to the process when nothing had to be run.
  advance.limit = here_;
  take(worker_.advance(advance));
  return !interrupted || here_ >= position;
}

} // namespace rdb::gdb
