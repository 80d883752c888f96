// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/chaos.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace rdb::guest {
namespace {

constexpr uint64_t kLongestSearchBits = 12;

uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

} // namespace

Chaos::Chaos(uint64_t seed) : seed_(seed), random_(seed) {
  constexpr uint64_t kTurnBits[] = {4, 6, 9, 14};
  constexpr uint64_t kPriorityTurnBits[] = {8, 11, 15, 19, 23};
  constexpr uint64_t kRestBits[] = {9, 12, 15, 18};
  constexpr uint64_t kTurnsPerRest[] = {2, 8, 64};
  constexpr uint64_t kPlaces[] = {8, 32, 128};
  constexpr Manner kManners[] = {Manner::rests, Manner::priorities, Manner::places, Manner::places};
  manner_ = kManners[random() % std::size(kManners)];
  longest_turn_bits_ = manner_ == Manner::rests ? kTurnBits[random() % std::size(kTurnBits)]
                                                : kPriorityTurnBits[random() % std::size(kPriorityTurnBits)];
  longest_rest_bits_ = kRestBits[random() % std::size(kRestBits)];
  turns_per_rest_ = kTurnsPerRest[random() % std::size(kTurnsPerRest)];
  searches_ = random() % 4 != 0;
  place_every_ = kPlaces[random() % std::size(kPlaces)];
}

bool Chaos::ends_turn_at(uint64_t address) {
  if (manner_ != Manner::places) return true;
  if (mixed(seed_ ^ mixed(address)) % place_every_ != 0) return false;
  // Seldomer each time: what is done once counts as much as a loop.
  constexpr unsigned kSeldom = 8;
  unsigned& visits = visits_[address];
  at_place_ = random() % (1ull << std::min(visits, kSeldom)) == 0;
  if (at_place_) ++visits;
  return at_place_;
}

void Chaos::begin() {
  random_ = ~seed_;
  lots_.clear();
  visits_.clear();
  lowest_priority_ = kFirstLowest;
  // Turns go on growing in a program that has threads again and again.
  if (!had_company_) begun_ = false;
  had_company_ = true;
}

uint64_t Chaos::search_length() {
  if (manner_ == Manner::places) return 1ull << kLongestSearchBits;
  return searches_ ? log_uniform(kLongestSearchBits) : 0;
}

uint64_t Chaos::random() {
  random_ += 0x9E3779B97F4A7C15ull;
  return mixed(random_);
}

// Every order of magnitude is as likely as any other.
uint64_t Chaos::log_uniform(uint64_t longest_bits) {
  return 1 + random() % (1ull << random() % (longest_bits + 1));
}

uint64_t Chaos::turn_length(uint64_t now) {
  at_place_ = false; // one that was left by a call is none of this turn's
  if (manner_ == Manner::priorities && random() % 2 == 0) return 1 + random() % (1ull << longest_turn_bits_);
  if (!begun_) begin_ = now;
  begun_ = true;
  // Turns grow with time, so that a long run does not spend it all on switching, or on searching.
  if (manner_ == Manner::places) return 1 + random() % (1 + (now - begin_) / 256);
  constexpr uint64_t kStretch = 1 << 20;
  uint64_t grown = static_cast<uint64_t>(std::bit_width((now - begin_) / kStretch));
  return log_uniform(
      std::max<uint64_t>(longest_turn_bits_, std::min<uint64_t>(longest_turn_bits_ + grown, 20)));
}

void Chaos::turn_over(const Thread& thread, const std::deque<Thread*>& ready, uint64_t now) {
  if (manner_ == Manner::priorities) {
    lot_of(thread).priority = --lowest_priority_;
    return;
  }
  // If those before whom it rests rested as well, nobody would get ahead.
  auto resting = static_cast<size_t>(std::count_if(
      ready.begin(), ready.end(), [&](const Thread* other) { return lot_of(*other).rests_until > now; }));
  if (manner_ == Manner::places) {
    if (std::exchange(at_place_, false) && 2 * resting <= ready.size())
      lot_of(thread).rests_until = now + (1ull << (longest_rest_bits_ - random() % 4));
  } else if (random() % turns_per_rest_ == 0 && resting == 0) {
    lot_of(thread).rests_until = now + log_uniform(longest_rest_bits_);
  }
}

Chaos::Lot& Chaos::lot_of(const Thread& thread) {
  // A priority begins above all that have lost theirs.
  while (lots_.size() <= thread.order)
    lots_.push_back({UINT64_MAX / 2 + random() % (UINT64_MAX / 4)});
  return lots_[thread.order];
}

bool Chaos::comes_first(const Thread& thread, const Thread& running) {
  if (manner_ == Manner::priorities) return lot_of(thread).priority > lot_of(running).priority;
  return random() % 4 == 0;
}

size_t Chaos::choose(const std::deque<Thread*>& ready, uint64_t now) {
  if (manner_ == Manner::priorities) {
    auto lower = [this](Thread* a, Thread* b) { return lot_of(*a).priority < lot_of(*b).priority; };
    return static_cast<size_t>(std::max_element(ready.begin(), ready.end(), lower) - ready.begin());
  }
  std::vector<size_t> rested;
  for (size_t i = 0; i < ready.size(); ++i)
    if (lot_of(*ready[i]).rests_until <= now) rested.push_back(i);
  if (!rested.empty()) return rested[random() % rested.size()];
  auto earlier = [this](Thread* a, Thread* b) { return lot_of(*a).rests_until < lot_of(*b).rests_until; };
  return static_cast<size_t>(std::min_element(ready.begin(), ready.end(), earlier) - ready.begin());
}

} // namespace rdb::guest
