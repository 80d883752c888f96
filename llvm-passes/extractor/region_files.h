// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The source files of one translation unit that have regions, and the file systems through which clang sees
// one of their views: without the regions, with them, or with a marker where each stood. All other files are
// seen as they are. A file is known by device and inode, so that every path to it gives the same view.
#pragma once

#include "llvm-passes/source/regions.h"

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/FileSystem/UniqueID.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <deque>
#include <map>
#include <set>
#include <string>

namespace rdb::extractor {

enum class ViewKind {
  kStripped, // M0
  kModule,   // M1: the debug code comes from here
  kMarked,   // M0 with a marker for each region
};

struct RegionFile {
  unsigned id;      // 1, 2 ... in the order in which the compiler opened them
  std::string path; // as the compiler named it
  std::string text; // as edited
  source::Scan scan;
  unsigned first_region; // number in the unit of region 1 of this file
  std::string stripped;  // the views
  source::View module;
  source::View marked;
};

// A region by its number in the unit.
struct RegionPlace {
  const RegionFile* file;
  const source::Region* region;
};

// The dialect that the text of the markers must be written in.
struct Dialect {
  bool cxx = false;
  bool exceptions = false;
};

class RegionFiles {
public:
  explicit RegionFiles(std::string header_directory) : header_directory_(std::move(header_directory)) {}

  // Takes the text of a file from elsewhere, as if the file had been edited.
  void edit(const std::string& path, std::string text);
  // Regions whose braces are left out, so that later regions see their variables.
  void set_open_regions(std::set<unsigned> regions) { open_ = std::move(regions); }
  // Text for the view of the debug code, by file.
  void set_insertions(std::map<unsigned, source::Insertions> insertions) {
    insertions_ = std::move(insertions);
  }
  void set_dialect(Dialect dialect) { dialect_ = dialect; }
  const Dialect& dialect() const { return dialect_; }
  bool is_open(unsigned region) const { return open_.contains(region); }
  // Makes the views that depend on the dialect and on the open regions.
  void make_views();

  const std::deque<RegionFile>& files() const { return files_; }
  bool empty() const { return files_.empty(); }
  std::optional<RegionPlace> find_region(unsigned number) const;
  const RegionFile* find(llvm::sys::fs::UniqueID id) const;
  // The number in the unit of the region that has this line of the edited file between its markers; 0 if
  // none.
  static unsigned region_at(const RegionFile& file, unsigned edited_line);

  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(ViewKind kind);

private:
  friend class ViewFileSystem;
  RegionFile* examine(const llvm::vfs::Status& status, llvm::vfs::FileSystem& files, const std::string& path);

  void make_view(RegionFile& file) const;

  std::string header_directory_;
  bool views_made_ = false;
  Dialect dialect_;
  std::set<unsigned> open_;
  std::map<unsigned, source::Insertions> insertions_;
  std::deque<RegionFile> files_;
  std::map<llvm::sys::fs::UniqueID, std::string> edits_;
  std::map<llvm::sys::fs::UniqueID, RegionFile*> known_; // null: has no regions
  unsigned next_region_ = 1;
};

} // namespace rdb::extractor
