// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that recorded processes share and write to.
//
// The problem: each process is replayed alone, so its own log must contain everything that it can find in its
// memory. But another process changes shared memory by plain stores, at any time, which nobody sees.
//
// The trick is that every shared page belongs to one process at a time:
//   - For the others it is protected (PROT_NONE), so that their accesses fault.
//   - A process whose access has faulted asks for the page in a table that all of these processes have mapped
//     (PageTable), and waits. The owner looks at the table after a limited number of instructions, and before
//     it sleeps in a system call; it protects the page for itself and hands it over.
//   - The new owner compares the page's version in the table with the version that it knows. If somebody has
//     written meanwhile, what the page holds goes into its log (`changed`). Then it may touch the page, and
//     the access that has faulted is repeated.
// So accesses of different processes to a page never overlap, and a log says what its process found.
//
// What makes this difficult:
//   - System calls: the kernel does not fault into a handler but returns EFAULT. So all pages that a call
//     reads or writes are taken before it (add_reads(), add_writes(), take_for_call()); or its arguments are
//     redirected to a second mapping of the same memory, which is never protected (`Area::copy`).
//   - Deadlocks: an instruction or a call may need several pages, and two processes may each have the page
//     that the other one needs. Who waits gives its pages back first. Only pages that are needed together,
//     or that an instruction has used already, are kept (`Keep`). If processes wait for each other all the
//     same, one gives back what it keeps, or the recording is refused (PageTable::find_deadlock()).
//   - Processes that die with pages: who waits for a dead owner takes the page, and marks its robust locks.
//   - A process that is stopped by another one keeps its pages; those that wait for it say so once.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/shared_memory/page_owners.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <functional>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace rdb::record {

class SharedPages {
public:
  // `changed` puts into the log what memory holds now.
  using Changed = std::function<void(guest::Machine&, GuestAddr, const void* bytes, size_t size)>;
  // `refuse` ends the recording, saying why.
  using Refuse = std::function<void(const std::string& why)>;
  SharedPages(Changed changed, Refuse refuse) : changed_(std::move(changed)), refuse_(std::move(refuse)) {}
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  bool any() const { return !areas_.empty(); }

  // Around a fork, the latter in both processes.
  void before_fork(guest::Machine& machine);
  void after_fork(const guest::Machine& machine, int64_t result);

  // The guest, or rdb in its place, could not read or write there: true if it can now.
  bool take(guest::Machine& machine, GuestAddr address, bool write);
  // The same for an instruction that has faulted.
  bool take_for_instruction(guest::Machine& machine, const engine::Fault& fault);
  // Lets a call's arguments name shared memory that it only reads where the kernel finds it whoever owns its
  // pages. False if that is not possible for all of it.
  struct Arguments {
    std::vector<iovec> vectors;
    msghdr message;
  };
  bool redirect(guest::Machine& machine, const guest::SystemCall& call, SyscallArgs& arguments,
                Arguments& storage) const;
  // What the process must have while it makes a call is collected first, then taken at the same time: all
  // that the call reads, or writes without rdb's help, and all pages of the part of a file that it changes.
  // True if something is shared.
  bool add_reads(guest::Machine& machine, const guest::SystemCall& call);
  bool add_writes(const guest::Machine& machine, const std::vector<iovec>& ranges);
  bool add_file(const guest::Machine& machine, uint64_t device, uint64_t inode, uint64_t begin, uint64_t end);
  void take_for_call(guest::Machine& machine);
  // Everything, beside what was collected.
  void take_all(guest::Machine& machine);
  // After the call; if it has succeeded, the collected pages of the file hold something new.
  void call_done(bool changed);
  // Whether other processes may have the file mapped, since a fork; this one may have it open only.
  bool has_file(uint64_t device, uint64_t inode) const;

  // A process that does not share the file's pages, or has said so beforehand, has changed this part of it.
  void file_changed(guest::Machine& machine, const trace::FilePart& part);

  // All of them, before the process may sleep; between instructions not those that the next one has just
  // asked for.
  void let_go();
  void let_go_between_instructions(const guest::Machine& machine);
  bool wanted() const;
  // The process has no use for it any more.
  void leave();

  // Lets a call of futex name words that are shared where the kernel finds them whoever owns their pages.
  void redirect_futex(SyscallArgs& arguments) const;
  // Whether someone has said that it has a robust lock whose word is there.
  bool is_lock(GuestAddr word) const;
  // Marks the locks of processes that have died: those in pages that this process has; or the one at this
  // place, whoever has its page.
  void mark_locks_of_dead(guest::Machine& machine);
  void mark_lock_of_dead(guest::Machine& machine, GuestAddr word);
  // What the mappings of a file are called that were first shared by the same fork, by all processes that
  // have them; 0: the mapping at this address is not shared.
  uint64_t family(uint64_t address) const;
  // After a call that may have changed mappings.
  void mappings_changed(const guest::AddressSpace& space, const guest::SystemCall& call, int64_t result);

private:
  enum class Hold : uint8_t { none, read, write, gone };
  struct Area {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t device = 0; // of the file; 0: it has none
    uint64_t inode = 0;
    uint64_t offset = 0;         // in the file
    uint32_t first = 0;          // page in the table
    uint32_t family = 0;         // the first page of the file's first area of the same fork
    char* copy = nullptr;        // the same memory, never protected
    bool writable = false;       // there
    std::vector<uint32_t> known; // which version this process has seen
    std::vector<Hold> holds;

    uint64_t address(size_t page) const { return begin + page * guest::kPage; }
    size_t page(uint64_t at) const { return (at - begin) / guest::kPage; }
    bool has(uint64_t at) const { return at >= begin && at < end; }
  };
  struct Held {
    size_t area;
    size_t page;
    bool operator==(const Held&) const = default;
  };

  const Area* find(uint64_t address) const;
  Area* find(uint64_t address) { return const_cast<Area*>(std::as_const(*this).find(address)); }
  // Each of these protections lets the kernel read memory, and rdb.
  static constexpr int kReadable = PROT_READ | PROT_WRITE | PROT_EXEC;
  std::optional<void*> reach(const guest::AddressSpace& space, void* address, uint64_t size) const;
  PageTable::Page& state(const Area& area, size_t page) const {
    return table_->page(area.first + static_cast<uint32_t>(page));
  }
  void wait_for(guest::Machine& machine, const Area& area, size_t page, uint32_t owner, int before);
  void tell_of_stopped(uint32_t self, uint32_t owner);
  std::optional<uint64_t> always_there(uint64_t address) const;
  void add(const guest::Mapping& mapping);
  void drop(size_t index);
  void withhold(const Area& area);
  template <class Wait>
  void claim(guest::Machine& machine, const Area& area, size_t page, Wait&& wait);
  void own(guest::Machine& machine, Area& area, size_t page, bool reached);
  void now_owned(guest::Machine& machine, Area& area, size_t page, bool reached);
  void log_change(guest::Machine& machine, Area& area, size_t page);
  bool mark_locks(guest::Machine& machine, Area& area, size_t page);
  void tell_locks();
  bool peek(GuestAddr from, void* to, size_t size);
  static void open_to(Area& area, size_t page, bool write);
  void release(Area& area, size_t page, Hold now);
  void give_back(const std::vector<Held>& but = {});
  void give_back_unreached();
  void add_all_needs(guest::Machine& machine);
  // The pages that the next instruction itself is in.
  std::vector<GuestAddr> code_pages(guest::Machine& machine) const;
  // Those that the next instruction has used already, though it is not done yet.
  std::vector<Held> touched(guest::Machine& machine) const;
  // A page that is needed, by an address in it.
  struct Need {
    GuestAddr address;
    bool write;
  };
  bool may_take(const guest::Machine& machine, GuestAddr address, bool write) const;
  static bool allows(Hold hold, bool write);
  bool has(GuestAddr address, bool write) const;
  // A page that is taken together with others.
  struct Wanted {
    Held place;
    bool write;
    bool reached; // false: a call changes it by way of its file, though the process could not use it
    bool of_file; // that the call changes
  };
  Wanted wanted_at(const Need& need) const;
  bool has(const Wanted& page) const;
  // If nobody has it.
  bool take_at_once(guest::Machine& machine, const Wanted& page);
  void take_in_turn(guest::Machine& machine, const Wanted& page);
  // All at the same time.
  void take_together(guest::Machine& machine, std::vector<Wanted> pages);
  bool add_for_call(const guest::Machine& machine, const std::vector<Need>& needs);
  std::vector<Wanted> takable(const guest::Machine& machine, const std::vector<Need>& needs) const;

  Changed changed_;
  Refuse refuse_;
  PageTable* table_ = nullptr;        // with the first area
  guest::Machine* machine_ = nullptr; // likewise
  bool has_locks_ = false;            // that the table knows of
  std::vector<Area> areas_;
  std::vector<Held> held_;
  std::vector<Held> unreached_;    // owned while a call changes them, though the process cannot use them
  std::vector<Wanted> for_call_;   // what the present call needs
  uint64_t taken_at_ = UINT64_MAX; // when an instruction needed one the last time
  std::vector<Need> needs_;        // of that instruction, so far
  // What a process keeps while it waits: pages that are needed together, or that an instruction has used.
  enum class Keep : uint8_t { nothing, all, touched };
  Keep keep_ = Keep::nothing;
  bool told_of_stopped_ = false;
};

} // namespace rdb::record
