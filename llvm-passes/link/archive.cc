// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See archive.h. The format is System V's with GNU's extensions: "/" or "/SYM64/" is the index of symbols,
// "//" holds long names, "/N" refers to them.
#include "llvm-passes/link/archive.h"

#include "descriptors/elf_file.h"

#include <algorithm>
#include <ar.h>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rdb::link {

namespace {

constexpr std::string_view kThinMagic = "!<thin>\n";
constexpr std::string_view kMagic = ARMAG;

[[noreturn]] void damaged(const std::string& path) {
  throw elf::Error("archive '" + path + "' is damaged");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

uint64_t decimal(std::string_view text, const std::string& path) {
  uint64_t value = 0;
  for (char c : trimmed(text)) {
    if (c < '0' || c > '9' || value > UINT64_MAX / 100) damaged(path);
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (char c : bytes)
    value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string to_big_endian(uint64_t value, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i)
    bytes[size - 1 - i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string member_header(std::string_view name, uint64_t size) {
  std::string header(sizeof(ar_hdr), ' ');
  auto put = [&](size_t at, std::string_view text) {
    std::memcpy(header.data() + at, text.data(), text.size());
  };
  put(offsetof(ar_hdr, ar_name), name);
  put(offsetof(ar_hdr, ar_date), "0");
  put(offsetof(ar_hdr, ar_uid), "0");
  put(offsetof(ar_hdr, ar_gid), "0");
  put(offsetof(ar_hdr, ar_mode), "644");
  put(offsetof(ar_hdr, ar_size), std::to_string(size));
  put(offsetof(ar_hdr, ar_fmag), ARFMAG);
  return header;
}

void append_member(std::string& out, std::string_view name, std::string_view bytes) {
  out += member_header(name, bytes.size());
  out += bytes;
  if (out.size() % 2 != 0) out += '\n';
}

} // namespace

bool Archive::is_archive(std::string_view bytes) {
  return bytes.starts_with(kMagic) || bytes.starts_with(kThinMagic);
}

Archive::Archive(std::string_view bytes, const std::string& path) {
  bool thin = bytes.starts_with(kThinMagic);
  if (!is_archive(bytes)) damaged(path);
  std::string_view long_names, symbols;
  size_t symbol_word = 4;
  std::map<uint64_t, size_t> by_offset;
  std::vector<std::string> thin_paths;
  for (uint64_t at = kMagic.size(); at < bytes.size();) {
    uint64_t start = at;
    if (bytes.size() - at < sizeof(ar_hdr)) damaged(path);
    ar_hdr header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (std::memcmp(header.ar_fmag, ARFMAG, sizeof header.ar_fmag) != 0) damaged(path);
    at += sizeof header;
    uint64_t size = decimal({header.ar_size, sizeof header.ar_size}, path);
    std::string_view name = trimmed({header.ar_name, sizeof header.ar_name});
    bool special = name == "/" || name == "//" || name == "/SYM64/";
    uint64_t stored = thin && !special ? 0 : size;
    if (stored > bytes.size() - at) damaged(path);
    std::string_view content = bytes.substr(at, stored);
    at += stored + (stored % 2);
    if (name == "//") {
      long_names = content;
    } else if (special) {
      symbols = content;
      symbol_word = name == "/" ? 4 : 8;
    } else {
      std::string full(name);
      if (name.starts_with("/")) {
        uint64_t offset = decimal(name.substr(1), path);
        if (offset >= long_names.size()) damaged(path);
        full = long_names.substr(offset, long_names.find('\n', offset) - offset);
      }
      if (full.ends_with("/")) full.pop_back();
      by_offset[start] = members_.size();
      members_.push_back({full, content});
    }
  }
  if (thin) {
    loaded_.reserve(members_.size());
    for (ArchiveMember& member : members_) {
      std::filesystem::path file = member.name;
      if (file.is_relative()) file = std::filesystem::path(path).parent_path() / file;
      std::ifstream in(file, std::ios::binary);
      if (!in) throw elf::Error("cannot read '" + file.string() + "', a member of '" + path + "'");
      loaded_.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      member.bytes = loaded_.back();
      member.name = file.filename();
    }
  }
  read_index(symbols, symbol_word, by_offset);
}

void Archive::read_index(std::string_view table, size_t word, const std::map<uint64_t, size_t>& by_offset) {
  if (table.size() < word) return;
  uint64_t count = big_endian(table.substr(0, word));
  if (count > (table.size() - word) / word) return;
  std::string_view names = table.substr(word + count * word);
  for (uint64_t i = 0; i < count; ++i) {
    auto member = by_offset.find(big_endian(table.substr(word + i * word, word)));
    size_t end = names.find('\0');
    if (member == by_offset.end() || end == std::string_view::npos) return;
    index_.emplace(names.substr(0, end), member->second);
    index_order_.emplace_back(names.substr(0, end), member->second);
    names.remove_prefix(end + 1);
  }
}

std::string Archive::with_members(const std::map<size_t, std::string>& replaced) const {
  auto content = [&](size_t number) -> std::string_view {
    auto found = replaced.find(number);
    return found == replaced.end() ? members_[number].bytes : std::string_view(found->second);
  };
  // All names go to the table of long ones: their lengths are then no concern.
  std::string names;
  std::vector<std::string> name_fields;
  for (const ArchiveMember& member : members_) {
    name_fields.push_back("/" + std::to_string(names.size()));
    names += member.name + "/\n";
  }
  std::string strings;
  for (const auto& [name, member] : index_order_)
    strings.append(name).push_back('\0');
  uint64_t index_size = 8 * (1 + index_order_.size()) + strings.size();

  auto even = [](uint64_t size) { return size + size % 2; };
  uint64_t at = kMagic.size() + sizeof(ar_hdr) + even(names.size());
  if (!index_order_.empty()) at += sizeof(ar_hdr) + even(index_size);
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < members_.size(); ++i) {
    offsets.push_back(at);
    at += sizeof(ar_hdr) + even(content(i).size());
  }

  std::string out(kMagic);
  if (!index_order_.empty()) {
    std::string index = to_big_endian(index_order_.size(), 8);
    for (const auto& [name, member] : index_order_)
      index += to_big_endian(offsets[member], 8);
    append_member(out, "/SYM64/", index + strings);
  }
  append_member(out, "//", names);
  for (size_t i = 0; i < members_.size(); ++i)
    append_member(out, name_fields[i], content(i));
  return out;
}

} // namespace rdb::link
