// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The range of addresses where twins lie, which no mapping of the guest's ever gets. It has three parts:
//
// - stubs: addresses that stand for something rdb does itself (a region, a function that nobody has). Whoever
//   runs the twin stops there and asks what it is; the bytes are ud2;
// - memory: code and data of twins;
// - poison: addresses of variables that the program does not have. Nothing is mapped there: an access faults,
//   and whoever runs the twin asks why.
#pragma once

#include "rdbtool/guest/memory/layout.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rdb::debug {

class TwinObject;

struct TwinStub {
  enum class Kind : uint8_t {
    region,    // `index` in TwinFacts::regions of `object`
    twin_call, // a call of a function with variables that rdb keeps for it begins: its frame is in rdi
    refused,   // what would be called cannot be: `why`
  };
  Kind kind = Kind::refused;
  const TwinObject* object = nullptr;
  uint32_t index = 0;
  std::string why = {};
};

class TwinMemory {
public:
  // Twins are code for the engine. Only tests run them themselves.
  enum class Use : uint8_t { translated, run_directly };
  // Reserves the range. Throws Limit if something is there.
  explicit TwinMemory(uint64_t begin = guest::kOwnCodeBegin, uint64_t end = guest::kOwnCodeEnd,
                      Use use = Use::translated);
  ~TwinMemory();
  TwinMemory(const TwinMemory&) = delete;
  TwinMemory& operator=(const TwinMemory&) = delete;

  static constexpr uint64_t kStubSize = 16;

  bool contains(uint64_t address) const { return address >= begin_ && address < end_; }
  guest::AddressRange stubs() const { return {begin_, begin_ + stubs_.size() * kStubSize}; }
  guest::AddressRange used() const { return {memory_begin_, next_}; }

  // Throws Limit if there is no room.
  uint64_t add_stub(TwinStub stub);
  uint64_t take(uint64_t size, uint64_t alignment);
  // Poison for a variable of this size, 0 if that is not known.
  uint64_t add_poison(uint64_t size, std::string why);

  // Null if the address is none.
  const TwinStub* stub(uint64_t address) const;
  // Why nothing is at this address of a variable, or behind this stub; null if it is neither.
  const std::string* why_refused(uint64_t address) const;

private:
  struct Poison {
    uint64_t end;
    std::string why;
  };

  void commit(uint64_t& committed, uint64_t wanted, uint64_t limit) const;

  uint64_t begin_, end_;
  int protection_;
  uint64_t memory_begin_, poison_begin_; // where the parts begin
  uint64_t stubs_committed_, memory_committed_;
  uint64_t next_, next_poison_;
  std::vector<TwinStub> stubs_;
  std::map<uint64_t, Poison> poison_; // by begin
};

} // namespace rdb::debug
