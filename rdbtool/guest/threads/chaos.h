// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who runs next, and for how long, in a run that looks for rare interleavings. Everything follows from the
// seed. Races hide in two ways: in windows of a few instructions that another thread must fall into (short
// turns, after which a thread often rests for a while, find those), and behind thousands of instructions that
// one thread must do before another does its next few (fixed priorities, which change at a few random places,
// find those). Some hide in code that runs once, beside much that runs often: for these a few instructions
// that touch memory are chosen by their addresses, and a thread that reaches one of them pauses. The seed
// chooses the strategy. Turns may last a little longer, up to a place where a switch can matter.
#pragma once

#include "rdbtool/guest/threads/thread.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace rdb::guest {

class Chaos {
public:
  explicit Chaos(uint64_t seed);

  // The next number of the sequence. Runs that are not chaotic draw from it too.
  uint64_t random();

  // The first thread has company: what came before shall not matter to what comes.
  void begin();

  // Times are counts of executed instructions.
  uint64_t turn_length(uint64_t now);
  // How many instructions longer a turn may last, in search of a better place to end.
  uint64_t search_length();
  // Whether a turn shall end at the instruction at this address, which touches memory that others may see.
  bool ends_turn_at(uint64_t address);
  // The thread's turn is over by its length, and these wait for theirs.
  void turn_over(const Thread& thread, const std::deque<Thread*>& ready, uint64_t now);
  // `thread` may run from now on: whether it shall come before the running one at once.
  bool comes_first(const Thread& thread, const Thread& running);
  // Index of the one that runs next.
  size_t choose(const std::deque<Thread*>& ready, uint64_t now);

private:
  enum class Manner : uint8_t { rests, priorities, places };

  // What a thread has been dealt.
  struct Lot {
    uint64_t priority;
    uint64_t rests_until = 0;
  };

  uint64_t log_uniform(uint64_t longest_bits);
  Lot& lot_of(const Thread& thread);

  uint64_t seed_;
  uint64_t random_;
  Manner manner_;
  uint64_t longest_turn_bits_;
  uint64_t turns_per_rest_;
  uint64_t longest_rest_bits_;
  bool searches_;
  uint64_t place_every_;                // addresses, of which one is a place
  std::map<uint64_t, unsigned> visits_; // by address: rests there
  bool at_place_ = false;               // the turn ends at one
  static constexpr uint64_t kFirstLowest = UINT64_MAX / 2;
  uint64_t lowest_priority_ = kFirstLowest;
  std::vector<Lot> lots_; // by Thread::order
  uint64_t begin_ = 0;    // when the first turn was drawn
  bool begun_ = false;
  bool had_company_ = false;
};

} // namespace rdb::guest
