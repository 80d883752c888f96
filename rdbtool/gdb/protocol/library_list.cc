// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's dynamic section names a record (struct r_debug) with the list of link maps. Everything is
// read from the program's memory, so nothing of it is trusted.
#include "rdbtool/gdb/protocol/library_list.h"

#include "rdbtool/base/xml.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>

namespace rdb::gdb {

namespace {

constexpr size_t kMostLibraries = 10'000, kLongestName = 4096, kMostNamespaces = 16;

// The second version of struct r_debug.
struct DebugRecord {
  r_debug base;
  uint64_t next; // of another namespace of libraries
};

uint64_t auxiliary_value(const Bytes& vector, uint64_t type) {
  Elf64_auxv_t entry{};
  for (size_t at = 0; at + sizeof entry <= vector.size(); at += sizeof entry) {
    std::copy_n(vector.data() + at, sizeof entry, reinterpret_cast<std::byte*>(&entry));
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return 0;
}

} // namespace

template <class T>
bool LibraryList::read(uint64_t from, T& value) {
  return target_.read_memory(GuestAddr(from), std::as_writable_bytes(std::span(&value, 1))) == sizeof value;
}

std::string LibraryList::read_text(uint64_t from) {
  std::string text(kLongestName, '\0');
  text.resize(target_.read_memory(GuestAddr(from), std::as_writable_bytes(std::span(text))));
  return text.substr(0, text.find('\0'));
}

// The address of r_debug; 0 as long as the dynamic linker has not made it, and in static programs.
uint64_t LibraryList::debug_record() {
  Bytes vector = target_.auxv();
  uint64_t headers = auxiliary_value(vector, AT_PHDR), count = auxiliary_value(vector, AT_PHNUM);
  uint64_t bias = 0, dynamic = 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, 64); ++i) {
    Elf64_Phdr segment;
    if (!read(headers + i * sizeof segment, segment)) return 0;
    if (segment.p_type == PT_PHDR) bias = headers - segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
  }
  if (dynamic == 0) return 0;
  Elf64_Dyn entry{};
  for (uint64_t at = bias + dynamic, i = 0; i < 256 && read(at, entry) && entry.d_tag != DT_NULL; ++i) {
    if (entry.d_tag == DT_DEBUG) return entry.d_un.d_ptr;
    at += sizeof entry;
  }
  return 0;
}

// What is loaded here, in the dynamic linker's order; the program itself is left out.
std::vector<LibraryList::Library> LibraryList::loaded(uint64_t& main_map) {
  std::vector<Library> all;
  uint64_t record = debug_record();
  for (size_t space = 0; record != 0 && space < kMostNamespaces; ++space) {
    DebugRecord debug{};
    if (!read(record, debug.base)) break;
    auto map = reinterpret_cast<uint64_t>(debug.base.r_map);
    while (map != 0 && all.size() < kMostLibraries) {
      link_map entry{};
      if (!read(map, entry)) break;
      if (space == 0 && entry.l_prev == nullptr)
        main_map = map;
      else if (std::string name = read_text(reinterpret_cast<uint64_t>(entry.l_name)); !name.empty())
        all.push_back(
            {name, map, entry.l_addr, reinterpret_cast<uint64_t>(entry.l_ld), space == 0 ? 0 : record});
      map = reinterpret_cast<uint64_t>(entry.l_next);
    }
    bool more = debug.base.r_version > 1 && read(record, debug);
    record = more ? debug.next : 0;
  }
  return all;
}

void LibraryList::remember(const std::vector<Library>& libraries) {
  Position here = target_.position();
  bool some_new = false;
  for (const Library& library : libraries) {
    auto [known, added] = first_seen_.try_emplace(library, here);
    known->second = std::min(known->second, here);
    some_new = some_new || added;
  }
  if (!some_new) return;
  for (const MemoryRegion& mapping : target_.mappings())
    if ((mapping.protection & PROT_EXEC) && mapping.path.starts_with('/'))
      code_[mapping.begin] = {mapping.end, mapping.offset, mapping.path};
}

std::string LibraryList::xml() {
  uint64_t main_map = 0;
  std::vector<Library> libraries = loaded(main_map);
  remember(libraries);
  Position here = target_.position();
  for (const auto& [library, first] : first_seen_) {
    auto same = [&known = library](const Library& other) {
      return known.name == other.name || known.link_map == other.link_map;
    };
    if (here < first && std::ranges::none_of(libraries, same)) libraries.push_back(library);
  }
  std::string text = "<library-list-svr4 version=\"1.0\"";
  if (main_map != 0) text += fmt::format(" main-lm=\"{:#x}\"", main_map);
  text += ">\n";
  for (const Library& library : libraries)
    text += fmt::format(
        "<library name=\"{}\" lm=\"{:#x}\" l_addr=\"{:#x}\" l_ld=\"{:#x}\" lmid=\"{:#x}\"/>\n",
        xml_escaped(library.name), library.link_map, library.base, library.dynamic, library.space);
  return text + "</library-list-svr4>\n";
}

size_t LibraryList::read_code(GuestAddr from, std::span<std::byte> to) {
  auto after = code_.upper_bound(from);
  if (after == code_.begin()) return 0;
  const auto& [begin, code] = *std::prev(after);
  if (from >= code.end) return 0;
  auto file = target_.open_file(code.path);
  if (!file) return 0;
  uint64_t into = from.value - begin.value;
  return file->read(code.offset + into, to.first(std::min<size_t>(to.size(), code.end.value - from.value)));
}

} // namespace rdb::gdb
