// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See identity.h.
#include "descriptors/identity.h"

#include "descriptors/sha256.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rdb::descriptors {

namespace {

// Where in the file the build-id's bytes are.
struct FileRange {
  uint64_t begin = 0, end = 0;
};

FileRange find_build_id(const elf::File& program) {
  for (const Elf64_Phdr& segment : program.segments()) {
    if (segment.p_type != PT_NOTE) continue;
    std::string_view file = program.bytes();
    uint64_t at = segment.p_offset;
    if (at > file.size() || segment.p_filesz > file.size() - at) continue;
    uint64_t end = at + segment.p_filesz;
    uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    auto aligned = [&](uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
    while (at + sizeof(Elf64_Nhdr) <= end) {
      Elf64_Nhdr note;
      std::memcpy(&note, file.data() + at, sizeof note);
      uint64_t name = at + sizeof note;
      uint64_t content = name + aligned(note.n_namesz);
      if (content > end || note.n_descsz > end - content) break;
      if (note.n_type == NT_GNU_BUILD_ID && file.substr(name, 4) == std::string_view("GNU\0", 4))
        return {content, content + note.n_descsz};
      at = content + aligned(note.n_descsz);
    }
  }
  return {};
}

} // namespace

std::string comparable_bytes(const elf::File& program, const Elf64_Phdr& segment) {
  std::string bytes(program.bytes().substr(segment.p_offset, segment.p_filesz));
  auto clear = [&](uint64_t begin, uint64_t end) {
    begin = std::max(begin, segment.p_offset);
    end = std::min(end, segment.p_offset + segment.p_filesz);
    for (uint64_t at = begin; at < end; ++at)
      bytes[at - segment.p_offset] = 0;
  };
  FileRange id = find_build_id(program);
  clear(id.begin, id.end);
  clear(offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_shoff) + sizeof(Elf64_Off));
  clear(offsetof(Elf64_Ehdr, e_shnum), sizeof(Elf64_Ehdr));
  return bytes;
}

Identity program_identity(const elf::File& program) {
  Identity identity;
  FileRange id = find_build_id(program);
  for (char c : program.bytes().substr(id.begin, id.end - id.begin)) {
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%02x", static_cast<unsigned char>(c));
    identity.build_id += buffer;
  }
  Sha256 hash;
  for (const Elf64_Phdr& segment : program.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t place[4] = {segment.p_vaddr, segment.p_memsz, segment.p_flags, segment.p_filesz};
    hash.update(std::string_view(reinterpret_cast<const char*>(place), sizeof place));
    hash.update(comparable_bytes(program, segment));
  }
  identity.hash = hash.finish_hex();
  return identity;
}

} // namespace rdb::descriptors
