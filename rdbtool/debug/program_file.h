// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program or shared library of the guest, as the trace keeps it: what its symbols are and where they end up
// in memory.
#pragma once

#include "descriptors/elf_file.h"

#include <memory>
#include <optional>
#include <string>

namespace rdb::debug {

class ProgramFile {
public:
  // Throws elf::Error if it is not a program.
  explicit ProgramFile(const std::string& path);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  const elf::File& elf() const { return *elf_; }
  // What is added to its addresses when its beginning is mapped at `begin`.
  uint64_t bias(uint64_t begin) const;
  // Size of its thread-local block, with the padding that precedes the thread pointer; 0 if it has none.
  uint64_t tls_size() const;
  // The address of a symbol that other files can use, as linked.
  std::optional<uint64_t> exported(std::string_view name) const;

private:
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::unique_ptr<elf::File> elf_;
};

} // namespace rdb::debug
