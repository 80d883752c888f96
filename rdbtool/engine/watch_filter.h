// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory is watched, in a form that translated code can ask cheaply.
//
// The problem: an access to a watched range must stop the guest before it happens. Almost all accesses are to
// other memory, so the question "is this address watched?" is asked millions of times for each "yes". It has
// to be a few instructions long, must not touch the flags, and there may be thousands of ranges.
//
// The trick is a table of 65536 bytes, indexed by some bits of the address, that says "no" or "maybe". "No"
// is always true. "Maybe" may be wrong, since many addresses have the same index, and leads to a closer look.
// There are three such tables, one after the other in memory below 2 GiB:
//   lines()     by the address in units of 64 bytes. Asked first. A range is marked with kReach bytes of room
//   on
//               both sides, so that one answer is good for all accesses near an address: [rbx], [rbx+8] ...
//   granules()  by the address in units of 8 bytes, marked without room. Asked second if all of these
//               accesses are of at most 8 bytes: it is more exact.
//   pages()     by the address in units of 4096 bytes, marked with the same room as lines. Asked second
//               otherwise: many lines have the index of a watched one, but few of them are in a page that has
//               the index of its page.
// If both answers are "maybe", code leaves for the host, which knows the ranges themselves: wants().
//
// For an address that is known at translation time nothing is asked at run time: touches() is asked once, and
// remembers in `unwatched_` that it said no. A range that is added later may contradict that: then
// relied_on() is true, and all code is made anew.
#pragma once

#include "rdbtool/base/range_index.h"

#include <cstdint>
#include <vector>

namespace rdb::engine {

class WatchFilter {
public:
  static constexpr uint64_t kTable = 65536; // bytes of each table
  static constexpr uint8_t kLineShift = 6;
  static constexpr uint8_t kPageShift = 12;
  static constexpr uint8_t kGranuleShift = 3;
  static constexpr uint32_t kGranule = 1u << kGranuleShift;
  // A question about an address answers for every access that lies within this distance of it.
  static constexpr int64_t kReach = 64;

  struct Watch {
    uint64_t begin, end;
    bool reads, writes;
  };

  static constexpr uint64_t kTables = 3;
  // The tables, below 2 GiB: so an address is 32 bits of an instruction.
  void set_tables(uint8_t* tables) { tables_ = tables; }
  uint32_t lines() const { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(tables_)); }
  uint32_t pages() const { return lines() + static_cast<uint32_t>(kTable); }
  uint32_t granules() const { return pages() + static_cast<uint32_t>(kTable); }

  void add(const Watch& watch);
  void clear();
  // Only writes are watched, and the CPU tells of those that it can: see write_can_trap().
  bool trapped() const { return trapped_; }
  void set_trapped(bool trapped) { trapped_ = trapped; }

  bool empty() const { return index_.empty(); }
  // Is there anything to ask about an access of this kind?
  bool asks(bool reads, bool writes) const { return (reads && reads_) || (writes && writes_); }
  // Does anybody want to know of this access?
  bool wants(uint64_t address, uint64_t size, bool reads, bool writes) const;
  // Whether any access to these bytes might be one to a watched range. Code is made that relies on the
  // answer: see relied_on().
  bool touches(uint64_t address, uint64_t size);
  // Might there be code that does not ask about these bytes, since they were not watched when it was made?
  bool relied_on(const Watch& watch) const;
  // That code is gone.
  void forget_answers();

private:
  struct Interest {
    bool reads, writes;
  };
  uint8_t* tables_ = nullptr;
  bool reads_ = false; // somebody wants to know of reads
  bool writes_ = false;
  bool trapped_ = false;
  RangeIndex<Interest> index_;
  std::vector<bool> unwatched_ = std::vector<bool>(kTable); // lines that touches() said no about
};

} // namespace rdb::engine
