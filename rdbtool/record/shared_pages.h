// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that recorded processes share and write to. Each of them is replayed alone, so its own log must say
// all that it can find there. For that every page belongs to one process at a time: to the others it is
// protected, and who touches it waits until its owner lets it go. What the page holds then goes into the log
// of the one that takes it, unless it is what that process knows already.
//
// An owner lets go when someone waits, at a limit of instructions; and before it may sleep.
#pragma once

#include "rdbtool/guest/process.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdb::record {

class SharedPages {
public:
  // `changed` puts into the log what memory holds now.
  using Changed = std::function<void(guest::Process&, GuestAddr, const void* bytes, size_t size)>;
  // `refuse` ends the recording, saying why.
  using Refuse = std::function<void(const std::string& why)>;
  SharedPages(Changed changed, Refuse refuse) : changed_(std::move(changed)), refuse_(std::move(refuse)) {}
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  bool any() const { return !areas_.empty(); }

  // Around a fork, the latter in both processes.
  void before_fork(const guest::Process& process);
  void after_fork(int64_t result);

  // The guest, or rdb in its place, could not read or write there: true if it can now.
  bool take(guest::Process& process, GuestAddr address, bool write);
  // The same for an instruction that has faulted.
  bool take_for_instruction(guest::Process& process, const engine::Fault& fault);
  // All that a call reads, as far as it is shared. True if it is.
  bool take_for_call(guest::Process& process, const guest::SystemCall& call);
  void take_all(guest::Process& process);

  // All of them, before the process may sleep; between instructions not those that the next one has just
  // asked for.
  void let_go();
  void let_go_between_instructions(const guest::Process& process);
  bool wanted() const;
  // The process has no use for it any more.
  void leave();

  // Lets a call of futex name words that are shared where the kernel finds them whoever owns their pages.
  void redirect_futex(SyscallArgs& arguments) const;
  // After a call that may have changed mappings.
  void mappings_changed(const guest::SystemCall& call, int64_t result);

private:
  // One page, seen by all processes.
  struct Page {
    std::atomic<uint32_t> owner = 0; // a process, or 0
    std::atomic<uint32_t> version = 0;
    std::atomic<uint32_t> wanted = 0; // by this process; 0: by nobody
  };
  struct Table {
    std::atomic<uint32_t> users = 1; // processes
    Page pages[];
  };
  enum class Hold : uint8_t { none, read, write, gone };
  struct Area {
    uint64_t begin = 0;
    uint64_t end = 0;
    Table* table = nullptr;
    char* copy = nullptr;        // the same memory, never protected
    std::vector<uint32_t> known; // which version this process has seen
    std::vector<Hold> holds;

    uint64_t address(size_t page) const { return begin + page * guest::kPage; }
    bool has(uint64_t at) const { return at >= begin && at < end; }
  };

  Area* find(uint64_t address);
  std::optional<uint64_t> always_there(uint64_t address) const;
  void add(const guest::Mapping& mapping);
  void withhold(const Area& area);
  void own(guest::Process& process, Area& area, size_t page);
  void release(Area& area, size_t page, Hold now);
  void give_back();
  void take_range(guest::Process& process, uint64_t begin, uint64_t size);

  Changed changed_;
  Refuse refuse_;
  std::vector<Area> areas_;
  struct Held {
    size_t area;
    size_t page;
  };
  std::vector<Held> held_;
  uint64_t taken_at_ = UINT64_MAX; // when an instruction needed one the last time
};

} // namespace rdb::record
