// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Notices writes to the program's memory that nobody announces.
//
// What debug code writes to the program is undone when it ends, and for that the old bytes must be saved
// first. rdb-clang puts a call in front of each store that it compiles. But libraries were compiled without
// that: a pointer to the program's memory that is passed to memcpy(), or to a function of C++, is written
// through unseen; so is one in inline assembly. For as long as such code runs, the guard makes the program's
// memory read-only. The first write to a page is a fault in rdb's handler, which has the page saved and
// opens it: from then on, until begin(), that page can be written to.
//
// With --protect the memory is read-only whenever debug code runs, and the user is told of the first write.
//
// All this is slow by nature. Each protect() and unprotect() takes a system call for every mapping, so
// nothing is protected while only instrumented code runs.
#pragma once

#include "rdbtool/debug/isolation/captured_stack.h"
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
  // `room`: for the stack of the first stray write.
  explicit WriteGuard(StackRoom& room) : room_(room) {}
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
    CapturedStack stack;
  };
  const std::optional<Stray>& stray() const { return stray_; }
  void note(uint64_t address, void* context) {
    if (!reports()) return;
    ++noted_;
    if (!stray_) stray_ = Stray{address, capture_stack(context, room_)};
  }
  size_t noted() const { return noted_; } // one for each page

private:
  void let(uint64_t page) const;

  StackRoom& room_;
  guest::AddressSpace* space_ = nullptr;
  Protect how_ = Protect::off;
  bool read_only_ = false;
  std::optional<Stray> stray_;
  size_t noted_ = 0;
  std::vector<uint64_t> open_; // pages
};

} // namespace rdb::debug
