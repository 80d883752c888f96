// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/program_file.h"

#include "rdbtool/guest/memory/layout.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::debug {

ProgramFile::ProgramFile(const std::string& path) {
  // A recording names the path: it may be a pipe by now, which is not waited for.
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat info = {};
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
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

bool ProgramFile::is_whole() const {
  return std::ranges::all_of(elf_->segments(), [&](const Elf64_Phdr& segment) {
    return segment.p_type != PT_LOAD ||
           (segment.p_offset <= size_ && segment.p_filesz <= size_ - segment.p_offset);
  });
}

ProgramFile::CodeSegment ProgramFile::code() const {
  for (const Elf64_Phdr& segment : elf_->segments())
    if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
      return {guest::page_down(segment.p_vaddr), guest::page_up(segment.p_vaddr + segment.p_memsz),
              guest::page_down(segment.p_offset)};
  return {};
}

bool ProgramFile::is_program() const {
  if (elf_->header().e_type == ET_EXEC) return true;
  for (const Elf64_Phdr& segment : elf_->segments())
    if (segment.p_type == PT_INTERP) return true;
  const elf::Section* dynamic = elf_->find(".dynamic"); // a static one that can be anywhere
  for (size_t at = 0; dynamic != nullptr && at + sizeof(Elf64_Dyn) <= dynamic->bytes.size();
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, dynamic->bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  return false;
}

ThreadBlockRule ProgramFile::thread_block_rule() const {
  ThreadBlockRule result;
  if (is_program()) {
    for (const Elf64_Phdr& segment : elf_->segments()) {
      if (segment.p_type != PT_TLS) continue;
      uint64_t align = std::max<uint64_t>(segment.p_align, 1);
      result.below = (segment.p_memsz + align - 1) & ~(align - 1);
    }
    return result;
  }
  std::vector<elf::Symbol> symbols = elf_->dynamic_symbols();
  for (const elf::Section& section : elf_->sections()) {
    if (section.header.sh_type != SHT_RELA || !section.allocated()) continue;
    for (const Elf64_Rela& entry : elf_->relocations(section)) {
      uint64_t index = ELF64_R_SYM(entry.r_info);
      // Those of other files are not of interest.
      if (index != 0 && (index >= symbols.size() || !symbols[index].defined())) continue;
      if (ELF64_R_TYPE(entry.r_info) == R_X86_64_DTPMOD64) result.number_at = entry.r_offset;
      if (ELF64_R_TYPE(entry.r_info) == R_X86_64_TPOFF64) {
        result.offset_at = entry.r_offset;
        result.offset_of =
            (index != 0 ? symbols[index].raw.st_value : 0) + static_cast<uint64_t>(entry.r_addend);
      }
    }
  }
  return result;
}

std::vector<ProgramFile::FunctionSlot> ProgramFile::function_slots() const {
  std::vector<FunctionSlot> result;
  std::vector<elf::Symbol> symbols = elf_->dynamic_symbols();
  for (const elf::Section& section : elf_->sections()) {
    if (section.header.sh_type != SHT_RELA || !section.allocated()) continue;
    for (const Elf64_Rela& entry : elf_->relocations(section)) {
      uint64_t index = ELF64_R_SYM(entry.r_info);
      uint64_t type = ELF64_R_TYPE(entry.r_info);
      if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && index < symbols.size())
        result.push_back({symbols[index].name, entry.r_offset});
    }
  }
  return result;
}

std::optional<uint64_t> ProgramFile::exported(std::string_view name) const {
  for (const elf::Symbol& symbol : elf_->dynamic_symbols())
    // The address of an indirect function is its resolver's.
    if (symbol.name == name && symbol.defined() && symbol.global() && symbol.type() != STT_GNU_IFUNC)
      return symbol.raw.st_value;
  return std::nullopt;
}

} // namespace rdb::debug
