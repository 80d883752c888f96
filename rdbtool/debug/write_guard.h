// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code that writes to the program's memory through a pointer changes the replay. On demand that memory
// is read-only while debug code runs, and each page that is written to nevertheless is noted: who, where, and
// what it held. Slow by nature: two system calls for every mapping, at every region.
#pragma once

#include "rdbtool/debug/refusal.h"
#include "rdbtool/guest/address_space.h"

#include <optional>
#include <string>
#include <vector>

namespace rdb::debug {

enum class Protect : uint8_t {
  off,
  report, // say it, and let it happen
  undo,   // say it, and take it back when the region ends
  fatal,  // say it, and stop the replay
};
// Throws UserError for another word.
Protect protect_named(const std::string& word);

class WriteGuard {
public:
  void attach(guest::AddressSpace& space, Protect how) {
    space_ = &space;
    how_ = how;
  }
  bool on() const { return how_ != Protect::off; }
  Protect how() const { return how_; }

  // Around debug code.
  void begin();
  void end();
  // Around calls of the program's functions, whose writes are undone in another way.
  void pause();
  void resume();

  // A write of debug code: true if it may go on. `mark`: how much program functions have written by then.
  bool allow(uint64_t address, void* context, size_t mark);
  // The first such write since begin().
  struct Stray {
    uint64_t address;
    Whereabouts place;
  };
  const std::optional<Stray>& stray() const { return stray_; }
  // The pages that were written to, as they were before.
  struct Page {
    uint64_t begin;
    size_t mark;
    std::vector<std::byte> bytes;
    void restore() const;
  };
  const std::vector<Page>& pages() const { return pages_; }

private:
  guest::AddressSpace* space_ = nullptr;
  Protect how_ = Protect::off;
  bool active_ = false;
  std::optional<Stray> stray_;
  std::vector<Page> pages_;
};

} // namespace rdb::debug
