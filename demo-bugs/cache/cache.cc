// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cache.h"

Cache::~Cache() {
  for (Page* page : pages_)
    delete page;
}

Page* Cache::get(int number) {
  auto known = index_.find(number);
  if (known != index_.end()) {
    pages_.splice(pages_.begin(), pages_, known->second);
    pages_.front()->uses++;
    return pages_.front();
  }
  Page* page = load_page(number);
  if (int parent = parent_of(number)) page->parent = get(parent);
  make_room();
  pages_.push_front(page);
  index_[number] = pages_.begin();
  page->uses++;
  return page;
}

void Cache::make_room() {
  while (pages_.size() >= room_) {
    Page* oldest = pages_.back();
    pages_.pop_back();
    index_.erase(oldest->number);
    delete oldest;
    evicted_++;
  }
}
