// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/process_images.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

// How sure it is that this is the program: some libraries can be run, too.
int likelihood(const elf::File& file) {
  if (file.header().e_type == ET_EXEC) return 3;
  bool has_interpreter = std::ranges::any_of(
      file.segments(), [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
  const elf::Section* dynamic = file.find(".dynamic");
  bool has_name = false;
  for (size_t at = 0; dynamic != nullptr && at + sizeof(Elf64_Dyn) <= dynamic->bytes.size();
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, dynamic->bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) return 3;
    has_name |= entry.d_tag == DT_SONAME;
  }
  return has_interpreter ? has_name ? 1 : 2 : 0;
}

} // namespace

ProcessImages::ProcessImages(const std::vector<replay::LoadedFile>& mapped, ReadMemory read) {
  std::vector<std::string> paths;
  for (const replay::LoadedFile& each : mapped) {
    try {
      auto file = std::make_unique<ProgramFile>(each.copy);
      if (!file->is_whole() || file->elf().segments().empty()) continue;
      files_.push_back({each.begin, each.copy, std::move(file), nullptr});
      paths.push_back(each.path);
    } catch (const elf::Error&) {
      continue; // a file of data
    }
  }
  auto program =
      std::ranges::max_element(files_, {}, [](const Image& image) { return likelihood(image.file->elf()); });
  if (program != files_.end()) {
    auto at = program - files_.begin();
    std::rotate(files_.begin(), program, program + 1);
    std::rotate(paths.begin(), paths.begin() + at, paths.begin() + at + 1);
  }
  std::vector<LoadedImage> images;
  images.reserve(files_.size());
  for (size_t i = 0; i < files_.size(); ++i)
    images.push_back({files_[i].file.get(), files_[i].file->bias(files_[i].begin.value), paths[i]});
  images_ = std::make_unique<LoadedImages>(std::move(images), std::move(read));
}

std::optional<size_t> ProcessImages::find(GuestAddr begin) const {
  auto found = std::ranges::find(files_, begin, &Image::begin);
  if (found == files_.end()) return std::nullopt;
  return static_cast<size_t>(found - files_.begin());
}

ProgramSymbols& ProcessImages::symbols(size_t image) {
  Image& known = files_[image];
  if (!known.symbols) known.symbols = std::make_unique<ProgramSymbols>(*known.file, known.copy);
  return *known.symbols;
}

} // namespace rdb::debug
