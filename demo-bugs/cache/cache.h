// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the pages that were used last; of those that nobody has pinned, the one not used for longest makes
// room.
#pragma once

#include "store.h"

#include <list>
#include <unordered_map>

class Cache {
public:
  Cache(Store& store, size_t room) : store_(store), room_(room) {}
  ~Cache();

  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The page, from here or the store; null if there is none. It stays until it is unpinned.
  Page* pin(int number);
  void unpin(Page* page) { page->pins--; }

  // Saves all that was changed.
  void flush();

  size_t hits() const { return hits_; }
  size_t evicted() const { return evicted_; }
  const std::list<Page*>& pages() const { return pages_; }

private:
  Page* get(int number);
  void make_room();
  void evict(Page* page);

  Store& store_;
  size_t room_;
  size_t hits_ = 0;
  size_t evicted_ = 0;
  std::list<Page*> pages_; // the one used last in front
  std::unordered_map<int, std::list<Page*>::iterator> index_;
};

// Holds a page while it is in use.
class Pinned {
public:
  Pinned(Cache& cache, int number) : cache_(cache), page_(cache.pin(number)) {}
  ~Pinned() {
    if (page_) cache_.unpin(page_);
  }

  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  explicit operator bool() const { return page_ != nullptr; }
  Page* operator->() const { return page_; }

private:
  Cache& cache_;
  Page* page_;
};
