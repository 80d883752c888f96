// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replay processes, and the ones that are kept to go back to. A snapshot is a process that waits; going to a
// position behind it is letting it fork and running the copy forwards. They are made at intervals adapted to
// their cost, and dropped where they are cheapest to recompute when they are many or take much memory.
#pragma once

#include "rdbtool/gdb/replay/replay_messages.h"

#include <chrono>
#include <map>

namespace rdb::gdb {

// It was killed, or something in it ended it without a word to this side.
struct ReplayEnded : std::runtime_error {
  ReplayEnded() : std::runtime_error("the replay process has ended; was it killed, or is there no memory?") {}
};

// One replay process; it ends when this does, and has given its memory back by then.
class ReplayProcess {
public:
  ReplayProcess() = default;
  ReplayProcess(int fd, pid_t pid) : fd_(fd), pid_(pid) {}
  ReplayProcess(ReplayProcess&& other) noexcept;
  ReplayProcess& operator=(ReplayProcess&& other) noexcept;
  ~ReplayProcess();

  explicit operator bool() const { return fd_ >= 0; }
  // Sends a request and waits for its answer. Throws what went wrong there, as it was thrown there;
  // ReplayEnded if it died.
  Message ask(ReplayCommand command, const Message& arguments);
  Advanced advance(const Advance& request);
  // If it has said what went wrong: the last position that it came to before.
  const std::optional<Position>& failed_after() const { return failed_after_; }
  // A copy of it, in the same state.
  ReplayProcess fork_copy();
  // Memory beside the files that it maps, in bytes. Of what copies of it have too, it has a share.
  struct Memory {
    uint64_t share = 0, all = 0;
  };
  Memory memory() const;
  // How many pages it has touched or written for the first time since it began.
  uint64_t page_faults() const;
  pid_t pid() const { return pid_; }

private:
  int fd_ = -1;
  pid_t pid_ = -1;
  std::optional<Position> failed_after_;
};

// Which of the snapshots at these times is missed least if the user is at `here`: the one in whose place the
// least would have to be replayed, for its distance. So they lie close where the user is, and far apart far
// away. The first and the last are never chosen; there must be one between.
size_t least_useful(std::span<const Time> kept, Time here);

class Snapshots {
public:
  struct Limits {
    size_t count = 24;
    uint64_t bytes = uint64_t{1} << 30;
  };
  explicit Snapshots(Limits limits) : limits_(limits) {}

  // The one that everything can be replayed from; never dropped.
  void set_first(Position position, ReplayProcess process);
  // Keeps a copy of `process`, which is at `position`.
  void add(Position position, ReplayProcess& process);
  // The same if enough time has passed since the last one to be worth its cost. In any case, what all of
  // them take is looked after: the more `process` writes, the less of its memory is theirs too.
  void add_if_due(Position position, ReplayProcess& process);
  // The process stops here.
  void rest(Position here, const ReplayProcess& process) { bound(here, process, 0); }

  // The last one at or before `position`, and the last one before it.
  Position at_or_before(Position position) const;
  std::optional<Position> before(Position position) const;
  ReplayProcess copy_of(Position position);
  size_t count() const { return kept_.size(); }

private:
  using Clock = std::chrono::steady_clock;
  void thin(Position here, const ReplayProcess& process);
  void bound(Position here, const ReplayProcess& process, uint64_t tolerance);

  static constexpr auto kShortest = std::chrono::milliseconds(250);

  Limits limits_;
  std::map<Position, ReplayProcess> kept_;
  Clock::time_point last_ = Clock::now();
  Clock::duration cost_{};
  Clock::duration interval_ = kShortest;
  // What they took when it was last measured; and of the process that went on then, how much it had written
  // and how much memory it had.
  uint64_t measured_ = 0;
  pid_t measured_by_ = -1;
  uint64_t faults_then_ = 0;
  uint64_t all_then_ = 0;
};

} // namespace rdb::gdb
