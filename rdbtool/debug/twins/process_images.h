// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The images of a replayed process, with their symbols: what a replay says is mapped, made into what twins
// are loaded against. Which of the files is the program is told by what it is, since a replay lists them by
// their addresses.
#pragma once

#include "rdbtool/debug/twins/loaded_images.h"
#include "rdbtool/debug/twins/program_symbols.h"
#include "rdbtool/replay/replayer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdb::debug {

class ProcessImages {
public:
  // Files that cannot be read, or are no programs or libraries, are left out. `read`: of the process's
  // memory.
  ProcessImages(const std::vector<replay::LoadedFile>& mapped, ReadMemory read);

  LoadedImages& images() { return *images_; }
  // The image that begins at this address.
  std::optional<size_t> find(GuestAddr begin) const;
  // Its symbols, which are read when they are first asked for. Throws elf::Error if they are damaged.
  ProgramSymbols& symbols(size_t image);

private:
  struct Image {
    GuestAddr begin;
    std::string copy;
    std::unique_ptr<ProgramFile> file;
    std::unique_ptr<ProgramSymbols> symbols;
  };

  std::vector<Image> files_; // the program first
  std::unique_ptr<LoadedImages> images_;
};

} // namespace rdb::debug
