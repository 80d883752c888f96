// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which pages of a mapping may hold something other than zeroes. A mapping may be a terabyte with nothing in
// it: to look at every page would take minutes, and would make the kernel allocate many of them. So the
// kernel is asked which pages this process has, and where the file has data.
#pragma once

#include "rdbtool/guest/memory/file_holes.h"

#include <memory>
#include <vector>

namespace rdb::guest {

// The kernel's table of the pages that this process has. To open it takes longer than to ask it about a
// mapping; a forked child needs one of its own.
class PageMap {
public:
  PageMap();
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  int fd() const { return fd_; } // -1 if it cannot be opened

private:
  int fd_;
};

class PossiblePages {
public:
  explicit PossiblePages(const Mapping& mapping);
  // For many mappings with one map, which must live longer.
  PossiblePages(const Mapping& mapping, const PageMap& page_map);
  PossiblePages(const PossiblePages&) = delete;
  PossiblePages& operator=(const PossiblePages&) = delete;

  // The first such page from this one on; the end of the mapping if there is none. To be asked in order.
  uint64_t next(uint64_t page);

private:
  struct Run {
    uint64_t begin;
    uint64_t end;
  };
  uint64_t next_present(uint64_t page);
  void read_runs(uint64_t page);
  bool scan_runs(uint64_t page);

  PossiblePages(const Mapping& mapping, std::unique_ptr<PageMap> own);

  std::unique_ptr<PageMap> own_;
  const Mapping& mapping_;
  FileHoles holes_;
  bool all_;                 // nothing is known: every page may
  int fd_;                   // of the kernel's page map
  uint64_t data_ = 0;        // the next page with data of the file, as far as it was asked for
  uint64_t known_until_ = 0; // runs_ has all before
  std::vector<Run> runs_;    // that are present, in order
  size_t run_ = 0;
};

} // namespace rdb::guest
