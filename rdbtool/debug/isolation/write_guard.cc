// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/write_guard.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <sys/mman.h>

namespace rdb::debug {

Protect protect_named(const std::string& word) {
  if (word == "true" || word == "report" || word == "undo") return Protect::report;
  if (word == "fatal") return Protect::fatal;
  user_error("--protect={}: expected report, undo or fatal", word);
}

void WriteGuard::begin() {
  stray_.reset();
  noted_ = 0;
  open_.clear();
}

void WriteGuard::protect() {
  if (read_only_) return;
  read_only_ = true;
  space_->set_read_only(true);
  for (uint64_t page : open_)
    let(page);
}

void WriteGuard::let(uint64_t page) const {
  // Code on that page would be stale.
  space_->release_code_page(GuestAddr(page));
  mprotect(reinterpret_cast<void*>(page), guest::kPage, PROT_READ | PROT_WRITE);
}

void WriteGuard::unprotect() {
  if (!read_only_) return;
  read_only_ = false;
  space_->set_read_only(false);
}

bool WriteGuard::is_withheld(uint64_t page) const {
  if (!read_only_ || std::find(open_.begin(), open_.end(), page) != open_.end()) return false;
  const guest::Mapping* mapping = space_->find(page);
  return mapping != nullptr && (mapping->protection & PROT_WRITE) != 0;
}

void WriteGuard::open(uint64_t page) {
  open_.push_back(page);
  let(page);
}

} // namespace rdb::debug
