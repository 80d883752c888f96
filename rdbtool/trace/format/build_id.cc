// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the build-id note of an ELF file. The file may be anything: every offset is checked before it is
// used.
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/store.h"

#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace rdb::trace {
namespace {

constexpr size_t kMaxNotes = 64 << 10;
constexpr size_t kMaxSegments = 256;

std::string find_in_notes(const std::string& notes) {
  size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    size_t name = at + sizeof note;
    uint64_t description = name + (uint64_t{note.n_namesz} + 3) / 4 * 4;
    uint64_t next = description + (uint64_t{note.n_descsz} + 3) / 4 * 4;
    if (description + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && notes.compare(name, 4, "GNU\0", 4) == 0) {
      std::string hex;
      for (size_t i = 0; i < note.n_descsz; ++i)
        hex += fmt::format("{:02x}", static_cast<uint8_t>(notes[description + i]));
      return hex;
    }
    if (next > notes.size()) return "";
    at = next;
  }
  return "";
}

} // namespace

std::string build_id_of(int fd) {
  const std::string name = "ELF file";
  Elf64_Ehdr header;
  if (pread_some(fd, &header, sizeof header, 0, name) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return "";
  for (size_t i = 0; i < header.e_phnum && i < kMaxSegments; ++i) {
    Elf64_Phdr segment;
    uint64_t at = header.e_phoff + i * sizeof segment;
    if (at > INT64_MAX || pread_some(fd, &segment, sizeof segment, at, name) != sizeof segment) return "";
    if (segment.p_type != PT_NOTE || segment.p_offset > INT64_MAX) continue;
    std::string notes(std::min<uint64_t>(segment.p_filesz, kMaxNotes), '\0');
    notes.resize(pread_some(fd, notes.data(), notes.size(), segment.p_offset, name));
    if (std::string id = find_in_notes(notes); !id.empty()) return id;
  }
  return "";
}

} // namespace rdb::trace
