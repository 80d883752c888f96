// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the pages that were used last; those not used for longest make room.
#pragma once

#include "page.h"

#include <list>
#include <unordered_map>

class Cache {
public:
  explicit Cache(size_t room) : room_(room) {}
  ~Cache();
  // The page, from here or the store. Valid until the next call.
  Page* get(int number);
  size_t evicted() const { return evicted_; }

private:
  void make_room();

  size_t room_;
  size_t evicted_ = 0;
  std::list<Page*> pages_; // the one used last in front
  std::unordered_map<int, std::list<Page*>::iterator> index_;
};
