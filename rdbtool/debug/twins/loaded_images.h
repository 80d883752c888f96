// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program and the shared libraries that it has loaded: who has a name that a twin uses. The dynamic
// linker has answered that already for the program, by rules of its own (which library is first, which
// version of a symbol, which variant of memcpy for this CPU), and has written the answers into the files'
// tables of addresses; so those are asked first.
#pragma once

#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/debug/twins/name_index.h"
#include "rdbtool/guest/memory/layout.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::debug {

struct LoadedImage {
  const ProgramFile* file;
  uint64_t bias;
  std::string path; // what it was called
};

// Reads memory of the program; false if some of it is not mapped.
using ReadMemory = std::function<bool(uint64_t address, void* to, size_t size)>;

class LoadedImages {
public:
  // The first one is the program. The files must outlive it.
  LoadedImages(std::vector<LoadedImage> images, ReadMemory read);

  const std::vector<LoadedImage>& images() const { return images_; }

  struct Found {
    size_t image;
    elf::Symbol symbol;
    uint64_t address; // in memory; of something thread-local, the offset in the block of its image
    bool is_indirect() const { return symbol.type() == STT_GNU_IFUNC; }
    bool is_thread_local() const { return symbol.type() == STT_TLS; }
  };
  // By the tables of names that files have for each other, in the order of the dynamic linker.
  std::optional<Found> find(std::string_view name);

  // What the dynamic linker has found for this image; none if it does not use the name, or has not called the
  // function yet.
  std::optional<uint64_t> resolved(size_t image, std::string_view name);
  // The same for whichever image has it.
  std::optional<uint64_t> resolved(std::string_view name);

  // A thread that runs, for thread_pointer_offset(): of the blocks of libraries that are there from the
  // beginning, the distance is the same in all threads.
  void set_thread_pointer(uint64_t thread_pointer) { thread_pointer_ = thread_pointer; }
  // How far the image's block of thread-local variables is from the thread pointer, if that is the same in
  // all threads and can be found out; and the number of the block.
  std::optional<uint64_t> thread_pointer_offset(size_t image) const;
  std::optional<uint64_t> thread_block_number(size_t image) const;

  // What the dynamic linker writes to while the program runs: every .got of every image.
  std::vector<guest::AddressRange> tables_of_addresses() const;

private:
  struct Names;
  Names& names(size_t image);
  void find_order();

  std::vector<LoadedImage> images_;
  ReadMemory read_;
  std::vector<std::shared_ptr<Names>> names_;
  std::vector<size_t> order_;
  size_t from_beginning_ = 0; // so many of those are loaded with the program
  uint64_t thread_pointer_ = 0;
};

} // namespace rdb::debug
