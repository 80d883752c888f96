// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code writes to the program's memory is undone if the compiler saw it; a system call or a
// function of the C library that is given a pointer into that memory changes the replay. On demand the memory
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
  report, // say it
  undo,   // say it, and take back the whole page when the region ends
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
    bool is_as_before() const;
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
