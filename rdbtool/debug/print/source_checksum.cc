// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// elfutils reads line tables but does not tell the checksums, so the headers in .debug_line are read here.
#include "rdbtool/debug/print/source_checksum.h"

#include "rdbtool/debug/print/source_lines.h"

#include <cstring>
#include <dwarf.h>
#include <vector>

namespace rdb::debug {
namespace {

class Bytes {
public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::string_view take(uint64_t size) {
    if (size > left_.size()) throw elf::Error("the line table is cut off");
    std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  uint64_t number(size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint64_t byte = number(1);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw elf::Error("the line table holds a number that does not end");
  }
  std::string_view string() {
    size_t end = left_.find('\0');
    if (end == std::string_view::npos) throw elf::Error("the line table holds a string that does not end");
    std::string_view text = take(end);
    take(1);
    return text;
  }

private:
  std::string_view left_;
};

// One entry of the tables of directories and files.
struct Entry {
  std::string_view path;
  uint64_t directory = 0;
  std::optional<Md5> checksum;
};

class LineHeader {
public:
  LineHeader(const elf::File& program, Bytes& header, size_t offset_size)
      : program_(program), bytes_(header), offset_size_(offset_size) {}

  std::vector<Entry> entries() {
    struct Column {
      uint64_t content, form;
    };
    std::vector<Column> columns(bytes_.number(1));
    for (Column& column : columns) {
      column.content = bytes_.uleb();
      column.form = bytes_.uleb();
    }
    std::vector<Entry> entries;
    uint64_t count = bytes_.uleb();
    if (columns.empty() && count != 0) throw elf::Error("the line table holds files without a name");
    constexpr uint64_t kMostFiles = 1'000'000;
    if (count > kMostFiles) throw elf::Error("the line table holds more files than any program has");
    for (uint64_t i = 0; i < count; ++i) {
      Entry entry;
      for (const Column& column : columns)
        read(column.content, column.form, entry);
      entries.push_back(entry);
    }
    return entries;
  }

private:
  void read(uint64_t content, uint64_t form, Entry& entry) {
    switch (form) {
    case DW_FORM_string:
      return text(content, bytes_.string(), entry);
    case DW_FORM_line_strp:
      return text(content, string_in(".debug_line_str"), entry);
    case DW_FORM_strp:
      return text(content, string_in(".debug_str"), entry);
    case DW_FORM_udata:
      return number(content, bytes_.uleb(), entry);
    case DW_FORM_data1:
      return number(content, bytes_.number(1), entry);
    case DW_FORM_data2:
      return number(content, bytes_.number(2), entry);
    case DW_FORM_data4:
      return number(content, bytes_.number(4), entry);
    case DW_FORM_data8:
      return number(content, bytes_.number(8), entry);
    case DW_FORM_data16: {
      std::string_view sum = bytes_.take(16);
      if (content != DW_LNCT_MD5) return;
      entry.checksum.emplace();
      std::memcpy(entry.checksum->data(), sum.data(), sum.size());
      return;
    }
    default:
      throw elf::Error("the line table has an entry of a kind that rdb does not know");
    }
  }
  static void text(uint64_t content, std::string_view value, Entry& entry) {
    if (content == DW_LNCT_path) entry.path = value;
  }
  static void number(uint64_t content, uint64_t value, Entry& entry) {
    if (content == DW_LNCT_directory_index) entry.directory = value;
  }
  std::string_view string_in(const char* section) {
    uint64_t offset = bytes_.number(offset_size_);
    const elf::Section* table = program_.find(section);
    if (table == nullptr) throw elf::Error("the line table refers to a section that is not there");
    return elf::string_at(table->bytes, offset);
  }

  const elf::File& program_;
  Bytes& bytes_;
  size_t offset_size_;
};

} // namespace

std::optional<Md5> recorded_checksum(const elf::File& program, const std::string& name) {
  const elf::Section* lines = program.find(".debug_line");
  if (lines == nullptr || (lines->header.sh_flags & SHF_COMPRESSED) != 0) return std::nullopt;
  for (Bytes section(lines->bytes); !section.empty();) {
    uint64_t length = section.number(4);
    size_t offset_size = length == 0xffffffff ? 8 : 4;
    if (offset_size == 8) length = section.number(8);
    Bytes unit(section.take(length));
    if (unit.number(2) != 5) continue;
    unit.take(2 + offset_size + 5); // sizes, the header's length, how addresses and lines advance
    unit.take(unit.number(1) - 1);  // lengths of opcodes
    LineHeader header(program, unit, offset_size);
    std::vector<Entry> directories = header.entries();
    for (const Entry& file : header.entries()) {
      std::string path(file.path);
      if (!path.starts_with('/') && file.directory < directories.size())
        path = std::string(directories[file.directory].path) + "/" + path;
      if (file.checksum && names_source(path, name)) return file.checksum;
    }
  }
  return std::nullopt;
}

} // namespace rdb::debug
