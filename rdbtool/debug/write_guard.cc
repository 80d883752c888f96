// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/write_guard.h"

#include "rdbtool/base/error.h"

#include <cstring>
#include <sys/mman.h>

namespace rdb::debug {

Protect protect_named(const std::string& word) {
  if (word.empty() || word == "true" || word == "report") return Protect::report;
  if (word == "undo") return Protect::undo;
  if (word == "fatal") return Protect::fatal;
  user_error("--protect={}: expected report, undo or fatal", word);
}

void WriteGuard::begin() {
  stray_.reset();
  pages_.clear();
  active_ = true;
  space_->set_read_only(true);
}

void WriteGuard::end() {
  active_ = false;
  space_->set_read_only(false);
}

void WriteGuard::pause() {
  if (active_) space_->set_read_only(false);
}

void WriteGuard::resume() {
  if (!active_) return;
  space_->set_read_only(true);
  for (const Page& page : pages_)
    mprotect(reinterpret_cast<void*>(page.begin), guest::kPage, PROT_READ | PROT_WRITE);
}

bool WriteGuard::allow(uint64_t address, void* context, size_t mark) {
  if (!active_) return false;
  const guest::Mapping* mapping = space_->find(address);
  if (mapping == nullptr || !(mapping->protection & PROT_WRITE)) return false;
  if (!stray_) stray_ = Stray{address, whereabouts(context)};
  uint64_t begin = address & ~(guest::kPage - 1);
  Page page{begin, mark, std::vector<std::byte>(guest::kPage)};
  std::memcpy(page.bytes.data(), reinterpret_cast<void*>(begin), guest::kPage);
  pages_.push_back(std::move(page));
  // Code on that page would be stale.
  space_->release_code_page(GuestAddr(address));
  mprotect(reinterpret_cast<void*>(begin), guest::kPage, PROT_READ | PROT_WRITE);
  return true;
}

void WriteGuard::Page::restore() const {
  std::memcpy(reinterpret_cast<void*>(begin), bytes.data(), guest::kPage);
}

bool WriteGuard::Page::is_as_before() const {
  return std::memcmp(reinterpret_cast<const void*>(begin), bytes.data(), guest::kPage) == 0;
}

} // namespace rdb::debug
