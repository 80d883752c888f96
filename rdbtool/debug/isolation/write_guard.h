// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Detects writes to the program's memory while debug code runs. Stores that the compiler sees are
// instrumented. For the rest (functions of the debug code's libraries that are given a pointer there, inline
// assembly) the memory is read-only while such code runs, and each page that is written is noted. With
// --protect it is read-only whenever debug code runs, and the first write is reported. This is slow by
// nature: it takes two system calls for every mapping.
#pragma once

#include "rdbtool/debug/isolation/refusal.h"
#include "rdbtool/guest/memory/address_space.h"

#include <optional>
#include <string>
#include <vector>

namespace rdb::debug {

enum class Protect : uint8_t {
  off,
  report, // say it; whatever debug code writes is undone when it ends
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
  bool reports() const { return how_ != Protect::off; }
  Protect how() const { return how_; }

  // Before debug code runs: forgets what the last has written to.
  void begin();
  void protect();
  void unprotect();
  bool is_read_only() const { return read_only_; }

  // Is it a page that could be written to if it were not for protect()?
  bool is_withheld(uint64_t page) const;
  // From now on it can be, until begin().
  void open(uint64_t page);

  // The first write to be told since begin().
  struct Stray {
    uint64_t address;
    Whereabouts place;
  };
  const std::optional<Stray>& stray() const { return stray_; }
  void note(uint64_t address, void* context) {
    if (!reports()) return;
    ++noted_;
    if (!stray_) stray_ = Stray{address, whereabouts(context, stray_stack_)};
  }
  size_t noted() const { return noted_; } // one for each page

private:
  void let(uint64_t page) const;

  guest::AddressSpace* space_ = nullptr;
  Protect how_ = Protect::off;
  bool read_only_ = false;
  std::optional<Stray> stray_;
  static inline StackRoom stray_stack_;
  size_t noted_ = 0;
  std::vector<uint64_t> open_; // pages
};

} // namespace rdb::debug
