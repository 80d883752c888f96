// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A second engine beside the one that replays the program. It runs guest code that the recorded run does not
// have: functions that debug code calls (NestedCalls), and functions that are run once more (NestedRun). It
// has the program's memory, registers of its own, and logs what it overwrites.
//
// Besides the program's memory it sees memory of rdb's own, [kOwnCodeBegin, kOwnCodeEnd): code that was
// brought there can be executed, read and written like the program's, but the program never sees it.
#pragma once

#include "rdbtool/debug/isolation/own_code.h"
#include "rdbtool/debug/isolation/undo_log.h"
#include "rdbtool/engine/translator.h"
#include "rdbtool/guest/memory/address_space.h"

#include <memory>

namespace rdb::debug {

// The guest's memory and rdb's own code.
class NestedMemory final : public engine::GuestMemory {
public:
  NestedMemory(guest::AddressSpace& space, const OwnCode& own_code) : space_(space), own_code_(own_code) {}
  size_t read(GuestAddr from, void* to, size_t size) override;
  size_t write(GuestAddr to, const void* from, size_t size) override;
  size_t read_code(GuestAddr from, void* to, size_t size) override;
  CodeWatch watch_code_page(GuestAddr page) override;

private:
  guest::AddressSpace& space_;
  const OwnCode& own_code_;
};

// Loads cost time and room in the log. Most runs need only their stores.
enum class Logged : uint8_t { stores, loads_too };

class NestedEngine {
public:
  // One of each kind at a time in a process.
  NestedEngine(guest::AddressSpace& space, Logged logged);
  ~NestedEngine();
  NestedEngine(const NestedEngine&) = delete;
  NestedEngine& operator=(const NestedEngine&) = delete;

  engine::Translator& translator() { return translator_; }
  guest::AddressSpace& space() { return space_; }
  UndoLog& log() { return log_; }
  bool logs_loads() const { return logged_ == Logged::loads_too; }

  // Where rdb's own code is: within [kOwnCodeBegin, kOwnCodeEnd), and no memory of the guest's. To be told
  // before it is run, and again when it has changed.
  void set_own_code(const OwnCode& own_code);
  const OwnCode& own_code() const { return own_code_; }

private:
  guest::AddressSpace& space_;
  Logged logged_;
  OwnCode own_code_;
  NestedMemory memory_;
  engine::Translator translator_;
  UndoLog log_;
  // For the space, which tells of changed code as long as it lives: null when this is gone.
  std::shared_ptr<engine::Translator*> listener_;
};

} // namespace rdb::debug
