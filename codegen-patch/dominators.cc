// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/dominators.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

namespace {

// The trees of blocks that were done already, by number. Of each block its best one up to the root is asked:
// that whose semidominator is nearest to the begin. Ways upwards are shortened as they are gone.
class Forest {
public:
  explicit Forest(size_t size) : semi_(size), above_(size, kNone), best_(size) {
    for (unsigned i = 0; i < size; ++i)
      semi_[i] = best_[i] = i;
  }
  unsigned& semi(unsigned number) { return semi_[number]; }
  void link(unsigned above, unsigned number) { above_[number] = above; }
  unsigned best(unsigned number) {
    if (above_[number] == kNone) return number;
    path_.clear();
    for (unsigned at = number; above_[above_[at]] != kNone; at = above_[at])
      path_.push_back(at);
    for (unsigned at : reverse(path_)) {
      unsigned above = above_[at];
      if (semi_[best_[above]] < semi_[best_[at]]) best_[at] = best_[above];
      above_[at] = above_[above];
    }
    return best_[number];
  }

private:
  static constexpr unsigned kNone = ~0U;
  std::vector<unsigned> semi_, above_, best_;
  std::vector<unsigned> path_;
};

} // namespace

Dominators::Visit Dominators::add_root(const Ways& ways, Block from) {
  order_.push_back(0);
  return {0, ways.from(from)};
}

std::optional<Dominators::Block> Dominators::next_of(std::vector<Visit>& visits) {
  Visit& visit = visits.back();
  while (!visit.ways.empty()) {
    Block block = visit.ways.front();
    visit.ways = visit.ways.drop_front();
    auto [number, is_new] = numbers_.try_emplace(block, static_cast<unsigned>(order_.size()));
    ways_.emplace_back(number->second, static_cast<unsigned>(visit.number));
    if (!is_new) continue;
    order_.push_back(static_cast<unsigned>(visit.number));
    return block;
  }
  visits.pop_back();
  return std::nullopt;
}

void Dominators::find_tree() {
  auto count = static_cast<unsigned>(order_.size());
  std::ranges::sort(ways_, std::ranges::greater()); // by where they lead, the last block first
  Forest forest(count);
  std::vector<unsigned> above(count);                   // in the tree of dominators
  std::vector<unsigned> first(count), following(count); // blocks by their semidominators; 0: none
  auto way = ways_.begin();
  for (unsigned block = count - 1; block > 0; --block) {
    for (; way != ways_.end() && way->first == block; ++way)
      forest.semi(block) = std::min(forest.semi(block), forest.semi(forest.best(way->second)));
    following[block] = std::exchange(first[forest.semi(block)], block);
    unsigned parent = order_[block];
    forest.link(parent, block);
    for (unsigned one = std::exchange(first[parent], 0); one != 0; one = following[one]) {
      unsigned best = forest.best(one);
      above[one] = forest.semi(best) < forest.semi(one) ? best : parent;
    }
  }
  for (unsigned block = 1; block < count; ++block)
    if (above[block] != forest.semi(block)) above[block] = above[above[block]];
  size_.assign(count, 1);
  for (unsigned block = count - 1; block > 0; --block)
    size_[above[block]] += size_[block];
  place_.assign(count, 0);
  std::vector<unsigned> next(count, 1); // place below each
  for (unsigned block = 1; block < count; ++block) {
    place_[block] = next[above[block]];
    next[above[block]] += size_[block];
    next[block] = place_[block] + 1;
  }
  ways_ = {};
}

std::optional<Dominators::Places> Dominators::find(ArrayRef<Block> blocks) const {
  Places places;
  for (Block block : blocks) {
    auto number = numbers_.find(block);
    if (number == numbers_.end()) return std::nullopt;
    places.push_back(place_[number->second]);
  }
  std::ranges::sort(places);
  return places;
}

bool Dominators::is_needed(Block block, const Places& places) const {
  auto number = numbers_.find(block);
  if (number == numbers_.end()) return false;
  unsigned begin = place_[number->second];
  auto first = std::ranges::lower_bound(places, begin);
  return first != places.end() && *first < begin + size_[number->second];
}

} // namespace rdb::codegen
