// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's mappings: what the guest believes about them, and how they are really mapped. Guest pages are
// never executable for the CPU; pages with translated code that the guest may write are kept read-only until
// it does.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/memory/layout.h"
#include "rdbtool/guest/memory/object_views.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rdb::guest {

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  int protection = 0; // as the guest asked
  int flags = 0;      // MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_GROWSDOWN
  uint64_t offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t object = 0;    // of shared memory without a file: each mmap makes its own
  std::string name;       // path, or [heap], [stack]
  uint64_t view = 0;      // on replay: of this object, which is mapped at several places (object_views.h)
  int copy = -1;          // a descriptor of rdb's for what is there: see restore() and make_memory_file()
  bool segment = false;   // of System V shared memory
  bool may_write = false; // a shared one of a file that was open for writing: it can become writable
  bool cleared_on_fork = false;  // MADV_WIPEONFORK
  bool left_out_on_fork = false; // MADV_DONTFORK, which counts more
};

// What the kernel leaves between a mapping that grows down and the one before it.
inline constexpr uint64_t kGuardGap = 256 * kPage;

// Whether the memory of the second is what follows that of the first, where it comes from.
bool continues_content(const Mapping& before, const Mapping& after);
// The flags to mmap that a mapping keeps.
int kept_flags(int flags);
// Whether nobody else has the memory: it is private, and not of a file.
bool is_own(const Mapping& mapping);
// How guest memory with this protection is really mapped.
int host_protection(int guest);
// Whether an advice to madvise() makes the kernel drop what the pages hold.
bool drops_pages(int advice);
// Whether it says what a forked child gets. That is rdb's own affair: a child by vfork is a forked one for
// the kernel, and so are copies of a replay.
bool concerns_forks(int advice);

// Memory in which every access by the host or the kernel works and none needs to be noticed: private,
// anonymous, readable and writable, without translated code.
struct PlainRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  [[gnu::always_inline]] bool holds(uint64_t address, uint64_t size) const {
    return address >= begin && address < end && size <= end - address;
  }
};

class AddressSpace final : public engine::GuestMemory {
public:
  explicit AddressSpace(const Layout& layout);

  // Told of every range whose translations are stale.
  void on_code_change(std::function<void(GuestAddr, uint64_t)> callback) {
    code_changed_.push_back(std::move(callback));
  }

  // Told before the host writes to guest memory; null for nobody.
  void on_write(std::function<void(GuestAddr, size_t)> callback) { writing_ = std::move(callback); }

  // Asked where the host finds memory that it cannot read (or write): true if it can now.
  void on_withheld(std::function<bool(GuestAddr, bool write)> callback) { withheld_ = std::move(callback); }

  // The system calls, with the kernel's results (an address or -errno).
  int64_t mmap(uint64_t address, uint64_t length, int protection, int flags, int fd, uint64_t offset);
  int64_t munmap(uint64_t address, uint64_t length);
  int64_t mprotect(uint64_t address, uint64_t length, int protection);
  int64_t mremap(uint64_t old_address, uint64_t old_size, uint64_t new_size, int flags, uint64_t new_address);
  int64_t brk(uint64_t address);
  int64_t madvise(uint64_t address, uint64_t length, int advice);
  int64_t shmat(int id, uint64_t address, int flags);
  int64_t shmdt(uint64_t address);
  // Of an mprotect() or madvise() that has just failed: the part of its range that it has changed all the
  // same. To be asked once.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  Range take_done_before_failure() { return std::exchange(done_, {}); }
  // In the child of a fork (not of a vfork): takes from it what the guest does not want it to have.
  void after_fork();

  // The memory call with this number; nothing if it is not one of the above.
  std::optional<int64_t> call(int64_t number, const std::array<uint64_t, 6>& arguments);
  // For replay: a mapping exactly as it was recorded, with `fd` in place of the file that it had (-1:
  // anonymous). Behind the end of that file there are zeroes, since the original may have grown.
  void restore(const Mapping& mapping, int fd);
  // For replay: a mapping that is one of several views of an object (Mapping::view).
  void restore_view(const Mapping& mapping);
  // For replay: what is mapped there is a view of this object from now on. `offset`: in the object.
  void make_view(uint64_t begin, uint64_t end, uint64_t object, uint64_t offset);
  // For replay, around a fork: see fork_copy().
  ObjectViews& object_views() { return object_views_; }
  void use_copies(const std::map<uint64_t, int>& files);
  // For replay: a call of mremap that has succeeded, and has moved the memory to `target`. Where memory of a
  // file has grown, there are zeroes.
  void repeat_mremap(uint64_t old_address, uint64_t old_size, uint64_t new_size, int flags, uint64_t target);
  // For replay: advice that drops pages. What is not private and anonymous is zero then.
  void repeat_drop(uint64_t address, uint64_t length);
  // For replay: a change of a mapped file, which reaches memory that the guest cannot write. The number of
  // bytes done.
  size_t change(GuestAddr to, const void* from, size_t size);
  // Like read(), of memory that the guest may not be able to read either.
  size_t peek(GuestAddr from, void* to, size_t size);
  // How far a mapping can be accessed in this range: a file may end before its mapping does.
  uint64_t end_of_content(const Mapping& mapping, uint64_t begin, uint64_t end);
  // The kernel has changed what these whole pages hold.
  void forget_code(uint64_t begin, uint64_t end);

  void set_brk(uint64_t begin);
  uint64_t brk_begin() const { return brk_begin_; }
  uint64_t brk_end() const { return brk_end_; }
  // A place for an image of this size in the window; 0 if it is full.
  uint64_t place_image(uint64_t size);
  void name(uint64_t begin, uint64_t end, const std::string& what);

  // engine::GuestMemory
  size_t read(GuestAddr from, void* to, size_t size) override;
  size_t write(GuestAddr to, const void* from, size_t size) override;
  size_t read_code(GuestAddr from, void* to, size_t size) override;
  CodeWatch watch_code_page(GuestAddr page) override;

  // A write to a page that is read-only only because it has translated code: makes it writable again, forgets
  // the translations, true.
  bool release_code_page(GuestAddr address);
  // The same for all such pages from begin to end.
  void release_code_pages(uint64_t begin, uint64_t end);
  bool has_code_pages() const { return !code_pages_.empty(); }
  // Makes all of them writable, before the kernel writes to guest memory. True if there were any.
  bool release_all_code_pages();

  // As long as this lives, pages whose code is translated stay writable; their code is compared instead.
  class CodeUnwatched {
  public:
    explicit CodeUnwatched(AddressSpace& space) : space_(space) { space_.code_unwatched_ = true; }
    ~CodeUnwatched();
    CodeUnwatched(const CodeUnwatched&) = delete;
    CodeUnwatched& operator=(const CodeUnwatched&) = delete;

  private:
    AddressSpace& space_;
  };

  // Makes everything read-only for the host, or as it was. Translated code must not run meanwhile.
  void set_read_only(bool on);

  // Whether all of it lies in one plain range.
  bool is_plain(uint64_t address, uint64_t size) {
    return is_known_plain(address, size) || find_plain(address, size);
  }
  // In one of those that were asked for last. Also for code that must not call any other.
  [[gnu::always_inline]] bool is_known_plain(uint64_t address, uint64_t size) const {
    for (const PlainRange& range : plain_)
      if (range.holds(address, size)) return true;
    return false;
  }

  const Mapping* find(uint64_t address) const;
  const std::map<uint64_t, Mapping>& mappings() const { return mappings_; }
  bool in_guest_range(uint64_t begin, uint64_t end) const;
  const Layout& layout() const { return layout_; }

private:
  uint64_t choose_place(uint64_t hint, uint64_t size, int flags);
  int64_t check_fixed(uint64_t address, uint64_t size, int flags) const;
  static void note_file(Mapping& mapping, int fd, int flags, uint64_t offset);
  static uint64_t begin_with_gap(const Mapping& mapping);
  uint64_t find_gap(uint64_t low, uint64_t high, uint64_t length) const;
  uint64_t find_gap(uint64_t length) const; // where mappings go that need not be anywhere
  void require_place(uint64_t begin, uint64_t end) const;
  int64_t unmap_around_reserved(uint64_t begin, uint64_t end);
  bool is_free(uint64_t begin, uint64_t end) const;
  void carve(uint64_t begin, uint64_t end);
  void insert(const Mapping& mapping);
  // The parts of all mappings that lie in this range.
  std::vector<Mapping> pieces_of(uint64_t begin, uint64_t end) const;
  // Calls `change` for each of them, and puts it in the place of what was there.
  template <class F>
  void change_pieces(uint64_t begin, uint64_t end, F&& change) {
    for (Mapping& piece : pieces_of(begin, end)) {
      change(piece);
      insert(piece);
    }
  }
  const Mapping* first_ending_after(uint64_t address) const;
  uint64_t mapped_without_hole(uint64_t begin, uint64_t end) const;
  int64_t advise_about_forks(Range range, int advice);
  int64_t why_not_in_place(uint64_t address, uint64_t old_size, uint64_t new_size);
  void move_pieces(const std::vector<Mapping>& pieces, uint64_t from, uint64_t target, Range grown);
  int64_t populate(Range range, int advice);
  void stale(uint64_t begin, uint64_t end);
  // A descriptor of memory that is to be mapped with these flags; -1: it needs none.
  int make_memory_file(uint64_t size, int flags);
  std::vector<Mapping> views_of(uint64_t object) const;
  int open_object(uint64_t object, uint64_t begin, uint64_t end);
  void map_view(Mapping mapping, int fd);
  void close_unused_objects();
  void close_memory_files();
  bool find_plain(uint64_t address, uint64_t size);

  Layout layout_;
  std::map<uint64_t, Mapping> mappings_; // by begin
  uint64_t objects_ = 0;                 // how many there have been
  ObjectViews object_views_;
  std::vector<int> memory_files_;                  // those that may still be mapped
  std::unordered_set<uint64_t> code_pages_;        // read-only for the CPU, writable for the guest
  std::unordered_set<uint64_t> watched_pages_;     // pages known to need nothing more
  std::unordered_map<uint64_t, int> code_changes_; // how often a page had to be released
  bool code_unwatched_ = false;                    // see CodeUnwatched
  std::vector<uint64_t> unwatched_pages_;          // translated since then
  Range done_;                                     // before the failure of the last call
  std::array<PlainRange, 4> plain_ = {};
  size_t next_plain_ = 0;
  std::vector<std::function<void(GuestAddr, uint64_t)>> code_changed_;
  std::function<void(GuestAddr, size_t)> writing_;
  std::function<bool(GuestAddr, bool write)> withheld_;
  uint64_t brk_begin_ = 0;
  uint64_t brk_end_ = 0;
};

} // namespace rdb::guest
