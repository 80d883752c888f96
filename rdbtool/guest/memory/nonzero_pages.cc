// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/nonzero_pages.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// A file whose mapping is shorter is read as a whole: to open it would cost more, and others can notice it.
constexpr uint64_t kShort = 64u << 20;

// From linux/fs.h (Linux 6.7), newer than the system's headers.
struct PageRegion {
  uint64_t begin;
  uint64_t end;
  uint64_t categories;
};
struct ScanArguments {
  uint64_t size;
  uint64_t flags;
  uint64_t begin;
  uint64_t end;
  uint64_t walk_end;
  uint64_t regions;
  uint64_t region_count;
  uint64_t most_pages;
  uint64_t inverted;
  uint64_t all_of;
  uint64_t any_of;
  uint64_t returned;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kPresent = 1 << 3;
constexpr uint64_t kSwapped = 1 << 4;

constexpr uint64_t kEntryPresentOrSwapped = 3ull << 62;

// What this process does not have is not there at all.
bool is_without_file(const Mapping& mapping) {
  return is_own(mapping) || mapping.copy == kNoFile;
}

// The mapping whose file is searched for holes; one without a file if that is not worth it.
Mapping with_holes(const Mapping& mapping) {
  bool wanted = !is_without_file(mapping) && mapping.end - mapping.begin > kShort;
  return wanted ? mapping : Mapping{.flags = MAP_ANONYMOUS};
}

} // namespace

PageMap::PageMap() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

PageMap::~PageMap() {
  if (fd_ >= 0) close(fd_);
}

PossiblePages::PossiblePages(const Mapping& mapping) : PossiblePages(mapping, std::make_unique<PageMap>()) {}

PossiblePages::PossiblePages(const Mapping& mapping, std::unique_ptr<PageMap> own)
    : PossiblePages(mapping, *own) {
  own_ = std::move(own);
}

PossiblePages::PossiblePages(const Mapping& mapping, const PageMap& page_map)
    : mapping_(mapping), holes_(with_holes(mapping)),
      all_(page_map.fd() < 0 || (!is_without_file(mapping) && !holes_.known())), fd_(page_map.fd()) {}

uint64_t PossiblePages::next(uint64_t page) {
  if (all_ || page >= mapping_.end) return page;
  uint64_t present = next_present(page);
  if (!holes_.known() || present == page) return present;
  if (data_ < page) data_ = std::min(holes_.next_data(page), mapping_.end);
  return std::min(present, data_);
}

uint64_t PossiblePages::next_present(uint64_t page) {
  for (;;) {
    while (run_ < runs_.size() && runs_[run_].end <= page)
      ++run_;
    if (run_ < runs_.size()) return std::max(page, runs_[run_].begin);
    page = std::max(page, known_until_);
    if (page >= mapping_.end) return mapping_.end;
    runs_.clear();
    run_ = 0;
    if (!scan_runs(page)) read_runs(page);
  }
}

bool PossiblePages::scan_runs(uint64_t page) {
  constexpr size_t kRegions = 512;
  PageRegion regions[kRegions];
  ScanArguments arguments{};
  arguments.size = sizeof arguments;
  arguments.begin = page;
  arguments.end = mapping_.end;
  arguments.regions = reinterpret_cast<uint64_t>(regions);
  arguments.region_count = kRegions;
  arguments.any_of = kPresent | kSwapped;
  arguments.returned = kPresent | kSwapped;
  int count = ioctl(fd_, kScan, &arguments);
  if (count < 0) return false;
  for (int i = 0; i < count; ++i)
    runs_.push_back({regions[i].begin, regions[i].end});
  known_until_ = arguments.walk_end;
  return true;
}

// The same for older kernels, which have an entry for every page.
void PossiblePages::read_runs(uint64_t page) {
  constexpr size_t kBatch = 65536;
  std::vector<uint64_t> entries(std::min<size_t>(kBatch, (mapping_.end - page) / kPage));
  ssize_t size = pread(fd_, entries.data(), entries.size() * 8, static_cast<off_t>(page / kPage * 8));
  if (size < 8) {
    // Not to be known: every page of this part may.
    runs_.push_back({page, mapping_.end});
    known_until_ = mapping_.end;
    return;
  }
  size_t count = static_cast<size_t>(size) / 8;
  for (size_t i = 0; i < count; ++i) {
    if (!(entries[i] & kEntryPresentOrSwapped)) continue;
    uint64_t at = page + i * kPage;
    if (!runs_.empty() && runs_.back().end == at)
      runs_.back().end += kPage;
    else
      runs_.push_back({at, at + kPage});
  }
  known_until_ = page + count * kPage;
}

} // namespace rdb::guest
