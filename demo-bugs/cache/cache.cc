// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cache.h"

Cache::~Cache() {
  flush();
  for (Page* page : pages_)
    delete page;
}

Page* Cache::pin(int number) {
  if (!store_.has(number)) return nullptr;
  Page* page = get(number);
  page->pins++;
  return page;
}

Page* Cache::get(int number) {
  auto known = index_.find(number);
  if (known != index_.end()) {
    hits_++;
    pages_.splice(pages_.begin(), pages_, known->second);
    return pages_.front();
  }
  Page* page = store_.load(number);
  if (int parent = store_.parent_of(number)) page->parent = get(parent);
  make_room();
  pages_.push_front(page);
  index_[number] = pages_.begin();
  return page;
}

void Cache::flush() {
  for (Page* page : pages_) {
    if (page->dirty) store_.save(*page);
    page->dirty = false;
  }
}

// If all are pinned there will be more pages than there is room for, for a while.
void Cache::make_room() {
  auto at = pages_.end();
  while (pages_.size() >= room_ && at != pages_.begin()) {
    Page* oldest = *--at;
    if (oldest->pins > 0) continue;
    at = pages_.erase(at);
    evict(oldest);
  }
}

void Cache::evict(Page* page) {
  if (page->dirty) store_.save(*page);
  index_.erase(page->number);
  delete page;
  evicted_++;
}
