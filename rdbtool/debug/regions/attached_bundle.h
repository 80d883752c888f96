// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle and the program file that it belongs to, in a replay. The file is mapped by the program whenever
// it likes, perhaps at several addresses one after the other; what debug code knows of the program's
// variables and functions follows it.
#pragma once

#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/debug/regions/program_thread_locals.h"
#include "rdbtool/debug/regions/region_selection.h"
#include "rdbtool/trace/format/input.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rdb::debug {

class AttachedBundle {
public:
  explicit AttachedBundle(std::unique_ptr<Bundle> bundle) : bundle_(std::move(bundle)) {}

  Bundle& bundle() const { return *bundle_; }
  const descriptors::Descriptors& descriptors() const { return bundle_->descriptors(); }
  const ProgramThreadLocals& thread_locals() const { return thread_locals_; }

  // Its program file was mapped, and the module is loaded.
  void attach(const ProgramFile& file, const trace::ContentId& content);
  // A region that is to run.
  struct SelectedRegion {
    RegionCount* count;
    size_t index; // in Descriptors::regions
  };
  // By id. Adds a count for each.
  void select(const RegionSelection& selection, std::deque<RegionCount>& counts);
  const std::map<uint32_t, SelectedRegion>& regions() const { return regions_; }

  // Of these, those with these ids are not called in place.
  void run_in_twins(std::set<uint32_t> regions) { in_twins_ = std::move(regions); }
  bool runs_in_twin(uint32_t region) const { return in_twins_.contains(region); }

  // Is this mapping made from its program file? Does it replace some of the file's code?
  bool is_own(const trace::MapInput& map) const { return map.has_file && map.file == content_; }
  bool is_over_code(const trace::MapInput& map) const;
  // Where the file's code is as linked.
  const ProgramFile::CodeSegment& code() const { return code_; }
  void move(uint64_t bias);

  // Symbols of other shared libraries that debug code uses are found when those are mapped.
  bool waits_for_libraries() const { return !library_symbols_.empty(); }
  void bind_library(const ProgramFile& file, const trace::MapInput& map);
  // This thread runs debug code next: debug code finds the thread's variables.
  void use_thread(engine::GuestMemory& memory, uint64_t thread_pointer);

  std::string mismatch;   // of a file that has the program's name, but is another; empty: none
  bool has_hooks = false; // at the locations of its regions

private:
  std::unique_ptr<Bundle> bundle_;
  ProgramThreadLocals thread_locals_;
  std::vector<size_t> library_symbols_; // not found yet, as indices of Descriptors::symbols
  trace::ContentId content_;            // of the program file
  ProgramFile::CodeSegment code_;
  std::map<uint32_t, SelectedRegion> regions_;
  std::set<uint32_t> in_twins_;
};

} // namespace rdb::debug
