// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory is watched, in a form that translated code can ask cheaply: tables of bytes by the 64-byte
// line of an address, its page and its eight bytes, all hashed. The line is asked about first. It is marked
// with some room around the range, so that one question can answer for all accesses near an address; then the
// page is asked about. A small access that asks for itself alone is told more exactly by its eight bytes.
// Only what both say "maybe" about is looked at by the host.
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
  // The tables, below 2 GiB.
  void set_place(uint8_t* tables) { tables_ = tables; }
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
  struct Wish {
    bool reads, writes;
  };
  uint8_t* tables_ = nullptr;
  bool reads_ = false; // somebody wants to know of reads
  bool writes_ = false;
  bool trapped_ = false;
  RangeIndex<Wish> index_;
  std::vector<bool> unwatched_ = std::vector<bool>(kTable); // lines that touches() said no about
};

} // namespace rdb::engine
