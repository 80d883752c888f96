// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code that crashed, hung or was left half-way may have broken the libc it shares with rdb. So the
// replay keeps copies of itself from before (forked processes that wait), and goes on from the last of them:
// silently up to the place where debug code went wrong, from there on without that region.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace rdb::debug {

struct RegionCount;

class Fallback {
public:
  // What is shown to the user; silent while the replay catches up.
  void add_output(int descriptor) { outputs_.push_back({descriptor, -1}); }
  void use() { in_use_ = true; }
  bool in_use() const { return in_use_; }

  // Before debug code runs: makes a copy if it is time for one. `ticks` is a clock that counts on its own.
  // True if this is a new process, which has no timers yet.
  bool keep_copy(uint64_t ticks) {
    return in_use_ && ticks >= next_ && copies_ < kMostCopies && make_copy(ticks);
  }
  // Around a piece of debug code. If this process ends meanwhile, in whatever way, the last copy goes on,
  // where that piece is given up when it comes to this hit.
  void enter(const RegionCount& count, uint64_t time);
  // Known before the user is told: this process may not live to tell.
  void say_why(const char* reason);
  void leave() {
    if (message_ != nullptr) message_->place = nullptr;
  }
  // Ends this process so, after the user was told why. Comes back if there is no copy.
  void go_back();
  // Is this the place? Then the user sees again what happens, and this piece does not run any more.
  bool gives_up_here(const RegionCount& count, uint64_t time) { return catches_up_ && is_place(count, time); }

private:
  static constexpr int kMostCopies = 8;
  // Written by a copy's successor: what it was doing when it ended.
  struct Message {
    const char* place = nullptr; // of what runs, at the same address in both; null while nothing does
    uint64_t code = 0;           // which it is
    bool callback = false;
    uint64_t hits = 0;
    uint64_t time = 0;
    bool told = false;     // the user knows why
    char reason[400] = ""; // if it is known
  };
  struct Output {
    int descriptor;
    int saved;
  };
  bool make_copy(uint64_t ticks);
  void wait_for(pid_t successor, const Message& message);
  void be_silent(bool silent);
  bool is_place(const RegionCount& count, uint64_t time);

  bool in_use_ = false;
  uint64_t next_ = 0;
  int copies_ = 0;
  Message* message_ = nullptr; // to the copy that waits
  bool catches_up_ = false;
  Message place_; // where it is no longer silent
  std::vector<Output> outputs_;
};

} // namespace rdb::debug
