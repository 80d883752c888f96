// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program or shared library of the guest, as the trace keeps it: what its symbols are and where they end up
// in memory.
#pragma once

#include "descriptors/elf_file.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::debug {

// How a thread's block of this file's variables is found. The program's own lies below the thread pointer. A
// shared library's is known to the dynamic linker, which has written its number, or how far it is from the
// thread pointer, into the library's memory for the library's own code.
struct ThreadBlockRule {
  uint64_t below = 0;                // the program: how far the block begins below the thread pointer
  std::optional<uint64_t> number_at; // as linked: where the number of its block is
  std::optional<uint64_t> offset_at; // as linked: where the distance is, of something in the block
  uint64_t offset_of = 0;            // which is there in the block
};

class ProgramFile {
public:
  // Throws elf::Error if it is not a program.
  explicit ProgramFile(const std::string& path);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  const elf::File& elf() const { return *elf_; }
  // Does the file have all that is to be loaded of it?
  bool is_whole() const;
  // What is added to its addresses when its beginning is mapped at `begin`.
  uint64_t bias(uint64_t begin) const;
  // Its executable segment, by whole pages, as linked.
  struct CodeSegment {
    uint64_t begin = 0, end = 0;
    uint64_t offset = 0; // in the file
  };
  CodeSegment code() const;
  ThreadBlockRule thread_block_rule() const;
  // The address of a symbol that other files can use, as linked.
  std::optional<uint64_t> exported(std::string_view name) const;

  // Where the dynamic linker writes the addresses of functions that this file calls by name, as linked.
  struct FunctionSlot {
    std::string_view name;
    uint64_t address;
  };
  std::vector<FunctionSlot> function_slots() const;

private:
  // A program, not a shared library.
  bool is_program() const;

  void* memory_ = nullptr;
  size_t size_ = 0;
  std::unique_ptr<elf::File> elf_;
};

} // namespace rdb::debug
