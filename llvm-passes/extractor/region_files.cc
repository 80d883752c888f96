// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes matter here: clang compares a file's size with what it read, so a view's status must tell the view's
// size. Everything else of the status (time, inode) stays the file's own.
#include "llvm-passes/extractor/region_files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <fmt/format.h>

namespace rdb::extractor {

namespace {

class ViewFile : public llvm::vfs::File {
public:
  ViewFile(llvm::vfs::Status status, llvm::StringRef text) : status_(std::move(status)), text_(text) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t, bool,
                                                               bool) override {
    return llvm::MemoryBuffer::getMemBufferCopy(text_, name);
  }
  std::error_code close() override { return {}; }

protected:
  void setPath(const llvm::Twine& path) override {
    status_ = llvm::vfs::Status::copyWithNewName(status_, path);
  }

private:
  llvm::vfs::Status status_;
  llvm::StringRef text_;
};

llvm::StringRef view_text(const RegionFile& file, ViewKind kind) {
  switch (kind) {
  case ViewKind::kStripped:
    return file.stripped;
  case ViewKind::kModule:
    return file.module.text;
  case ViewKind::kMarked:
    return file.marked.text;
  }
  __builtin_unreachable();
}

} // namespace

class ViewFileSystem : public llvm::vfs::ProxyFileSystem {
public:
  ViewFileSystem(RegionFiles& files, ViewKind kind)
      : ProxyFileSystem(llvm::vfs::getRealFileSystem()), files_(files), kind_(kind) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    auto status = getUnderlyingFS().status(path);
    if (!status || !status->isRegularFile()) return status;
    if (const RegionFile* file = files_.examine(*status, getUnderlyingFS(), path.str()))
      return llvm::vfs::Status::copyWithNewSize(*status, view_text(*file, kind_).size());
    return status;
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    auto opened = getUnderlyingFS().openFileForRead(path);
    if (!opened) return opened;
    auto status = (*opened)->status();
    if (!status || !status->isRegularFile()) return opened;
    const RegionFile* file = files_.examine(*status, getUnderlyingFS(), path.str());
    if (!file) return opened;
    llvm::StringRef text = view_text(*file, kind_);
    return std::unique_ptr<llvm::vfs::File>(
        std::make_unique<ViewFile>(llvm::vfs::Status::copyWithNewSize(*status, text.size()), text));
  }

private:
  RegionFiles& files_;
  ViewKind kind_;
};

void RegionFiles::edit(const std::string& path, std::string text) {
  llvm::sys::fs::UniqueID id;
  if (llvm::sys::fs::getUniqueID(path, id)) return; // not there: the compiler says so
  edits_[id] = std::move(text);
}

RegionFile* RegionFiles::examine(const llvm::vfs::Status& status, llvm::vfs::FileSystem& files,
                                 const std::string& path) {
  auto [entry, is_new] = known_.try_emplace(status.getUniqueID(), nullptr);
  if (!is_new || status.getSize() == 0) return entry->second;
  auto buffer = files.getBufferForFile(path, -1, /*RequiresNullTerminator=*/false);
  if (!buffer) return nullptr;
  std::string_view text((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
  if (auto edited = edits_.find(status.getUniqueID()); edited != edits_.end()) text = edited->second;
  // A NUL byte: an object, an archive, a precompiled header.
  if (!source::may_have_regions(text) || text.find('\0') != std::string_view::npos) return nullptr;
  if (llvm::StringRef(path).starts_with(header_directory_ + "/")) return nullptr;
  source::Scan scan = source::scan(text);
  if (scan.untouched()) return nullptr;
  RegionFile& file = files_.emplace_back();
  file.id = static_cast<unsigned>(files_.size());
  file.path = path;
  file.text = text;
  file.scan = std::move(scan);
  file.first_region = next_region_;
  next_region_ += static_cast<unsigned>(file.scan.regions.size());
  file.stripped = source::stripped_text(file.text, file.scan);
  // A file that only debug code includes is first seen when the others have their views.
  if (views_made_) make_view(file);
  return entry->second = &file;
}

void RegionFiles::make_views() {
  views_made_ = true;
  for (RegionFile& file : files_)
    make_view(file);
}

void RegionFiles::make_view(RegionFile& file) const {
  auto number = [&](const source::Region& region) { return file.first_region + region.number - 1; };
  auto note = [&](const source::Region& region, const char* what) {
    return fmt::format("(void)__builtin_annotation({}, \"rdb.{}\");", number(region), what);
  };
  const char* unless_constant = dialect_.cxx ? "if (!__builtin_is_constant_evaluated()) " : "";
  auto begin = [&](const source::Region& region) -> std::string {
    if (region.kind == source::RegionKind::kGlobals) return "";
    if (is_open(number(region))) return note(region, "enter");
    // The front end must not know that the region runs: one that does not end (exit, abort, an endless loop)
    // would be the end of the function, and later regions would not be compiled.
    return fmt::format("{}if (__builtin_annotation(0, \"rdb.perhaps\")) {}{{ {} {{", unless_constant,
                       dialect_.exceptions ? "try " : "", note(region, "enter"));
  };
  auto end = [&](const source::Region& region) -> std::string {
    if (region.kind == source::RegionKind::kGlobals) return "";
    // The label has the front end compile what follows even if the region does not end.
    if (is_open(number(region)))
      return fmt::format("__rdb_behind_{}:; {}", number(region), note(region, "leave"));
    return fmt::format("}} {} }}{}", note(region, "leave"),
                       dialect_.exceptions ? fmt::format(" catch (...) {{ {} __builtin_unreachable(); }}",
                                                         note(region, "escape"))
                                           : "");
  };
  auto mark = [&](const source::Region& region) {
    return region.between_cases ? "" : unless_constant + note(region, "mark");
  };
  auto insertions = insertions_.find(file.id);
  file.module =
      source::module_text(file.text, file.scan, begin, end,
                          insertions != insertions_.end() ? insertions->second : source::Insertions());
  file.marked = source::label_text(file.text, file.scan, mark);
}

std::optional<RegionPlace> RegionFiles::find_region(unsigned number) const {
  for (const RegionFile& file : files_)
    if (number >= file.first_region && number < file.first_region + file.scan.regions.size())
      return RegionPlace{&file, &file.scan.regions[number - file.first_region]};
  return std::nullopt;
}

const RegionFile* RegionFiles::find(llvm::sys::fs::UniqueID id) const {
  auto found = known_.find(id);
  return found == known_.end() ? nullptr : found->second;
}

unsigned RegionFiles::region_at(const RegionFile& file, unsigned edited_line) {
  const auto& regions = file.scan.regions; // in the order of their lines
  auto next = std::ranges::upper_bound(regions, edited_line, {}, &source::Region::begin_line);
  if (next == regions.begin() || edited_line > std::prev(next)->end_line) return 0;
  return file.first_region + std::prev(next)->number - 1;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> RegionFiles::file_system(ViewKind kind) {
  return llvm::makeIntrusiveRefCnt<ViewFileSystem>(*this, kind);
}

} // namespace rdb::extractor
