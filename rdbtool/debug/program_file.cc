// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/program_file.h"

#include "rdbtool/guest/layout.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::debug {

ProgramFile::ProgramFile(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0) {
    size_ = static_cast<size_t>(info.st_size);
    memory_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory_ == MAP_FAILED) memory_ = nullptr;
  }
  if (fd >= 0) close(fd);
  if (memory_ == nullptr) throw elf::Error(path + ": cannot be read");
  try {
    elf_ = std::make_unique<elf::File>(std::string_view(static_cast<const char*>(memory_), size_));
  } catch (...) {
    munmap(memory_, size_);
    throw;
  }
}

ProgramFile::~ProgramFile() {
  munmap(memory_, size_);
}

uint64_t ProgramFile::bias(uint64_t begin) const {
  uint64_t first = UINT64_MAX;
  for (const Elf64_Phdr& segment : elf_->segments())
    if (segment.p_type == PT_LOAD) first = std::min(first, guest::page_down(segment.p_vaddr));
  return begin - first;
}

uint64_t ProgramFile::tls_size() const {
  for (const Elf64_Phdr& segment : elf_->segments()) {
    if (segment.p_type != PT_TLS) continue;
    uint64_t align = std::max<uint64_t>(segment.p_align, 1);
    return (segment.p_memsz + align - 1) & ~(align - 1);
  }
  return 0;
}

std::optional<uint64_t> ProgramFile::exported(std::string_view name) const {
  for (const elf::Symbol& symbol : elf_->dynamic_symbols())
    if (symbol.name == name && symbol.defined() && symbol.global()) return symbol.raw.st_value;
  return std::nullopt;
}

} // namespace rdb::debug
