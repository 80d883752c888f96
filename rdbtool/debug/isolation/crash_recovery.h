// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code that crashed, hung or was left half-way may have broken the libc that it shares with rdb, or a
// lock of it is held for ever. So the replay keeps copies of itself from before (forked processes that wait),
// and goes on from the last of them: silently up to the hit where debug code went wrong, and from there on
// without that region.
#pragma once

#include "rdbtool/debug/regions/region_stats.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace rdb::guest {
class AddressSpace;
}

namespace rdb::debug {

class DebugSession;

class CrashRecovery {
public:
  explicit CrashRecovery(DebugSession& session) : session_(session) {}
  // A descriptor that the user sees. Nothing goes there while the replay catches up.
  void add_output(int descriptor) { outputs_.push_back({descriptor, -1}); }
  void use() { in_use_ = true; }
  // Nothing is shown for a while: what debug code says now is not about the process that is looked at.
  void mute(bool muted) {
    if (muted_ == muted) return;
    muted_ = muted;
    be_silent(muted_ || catches_up_);
  }
  bool in_use() const { return in_use_; }

  // Returns true if it is time for a copy. `ticks`: of a clock that runs whatever debug code does.
  bool is_copy_due(uint64_t ticks) const { return ticks >= next_ && copies_ < kMostCopies; }
  // Returns true if there is more to do before debug code runs than enter().
  bool is_busy(uint64_t ticks) const { return catches_up_ || is_copy_due(ticks); }
  // Before debug code runs. True if this is a new process, which has no timers yet.
  bool make_copy(uint64_t ticks, guest::AddressSpace& space);
  // Before a module is loaded, until DebugSession::end_loading(). Its constructors may end this process in a
  // way that nobody can prevent: then a process that waits says so. True if this is a new process, which has
  // no timers yet.
  bool begin_loading(const std::string& module);
  // Around a piece of debug code. If this process ends meanwhile, in whatever way, the last copy goes on,
  // where that piece is aborted when it comes to this hit.
  void enter(const RegionCount& count) {
    if (message_ == nullptr) return;
    message_->callback = count.callback;
    message_->hits = count.hits + 1;
    message_->told = false;
    message_->reason[0] = '\0';
    message_->count = &count;
  }
  // Known before the user is told: this process may not live to tell.
  void say_why(const char* reason);
  void leave() {
    if (message_ != nullptr) message_->count = nullptr;
  }
  // Ends this process after the user was told why, so that the last copy goes on. Returns only if there is
  // none.
  void go_back();
  // Returns true if debug code went wrong at this hit in a process that this one is the copy of: then it does
  // not run any more. After the last such hit the user sees again what happens.
  bool aborts_here(const RegionCount& count) { return catches_up_ && is_place(count); }

private:
  static constexpr int kMostCopies = 8;
  // Written by a copy's successor: what it was doing when it ended.
  struct SuccessorReport {
    // What runs; null while nothing does. The copy has a region's at the same address; callbacks, which it
    // may not have yet, are known by their number.
    const RegionCount* count = nullptr;
    uint64_t callback = 0;
    uint64_t hits = 0;
    bool told = false;     // the user knows why
    char reason[400] = ""; // if it is known

    bool is_about(const SuccessorReport& other) const {
      return callback == other.callback && (callback != 0 || count == other.count);
    }
    bool is_about(const RegionCount& other) const {
      return callback == other.callback && (callback != 0 || count == &other);
    }
  };
  struct MutedOutput {
    int descriptor;
    int saved;
  };
  void wait_for(pid_t successor, const SuccessorReport& message);
  void be_silent(bool silent);
  bool is_place(const RegionCount& count);

  DebugSession& session_;
  bool in_use_ = false;
  uint64_t next_ = 0;
  int copies_ = 0;
  SuccessorReport* message_ = nullptr; // to the copy that waits
  bool muted_ = false;
  bool catches_up_ = false;
  // Where successors of this copy ended, as far as it has not come there yet: the user was told of each.
  std::vector<SuccessorReport> places_;
  std::vector<MutedOutput> outputs_;
};

} // namespace rdb::debug
