// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/frame_table.h"

#include "descriptors/elf_file.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <map>
#include <utility>

namespace rdb::debug {
namespace {

constexpr uint8_t kRelative32 = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
constexpr uint8_t kRelative64 = DW_EH_PE_pcrel | DW_EH_PE_sdata8;
constexpr size_t kHeader = 12;

class Bytes {
public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  size_t at() const { return at_; }
  void skip(size_t size) {
    if (size > bytes_.size() - at_) throw elf::Error("an entry of .eh_frame is cut off");
    at_ += size;
  }
  template <class T>
  T number() {
    T value;
    size_t begin = at_;
    skip(sizeof value);
    std::memcpy(&value, bytes_.data() + begin, sizeof value);
    return value;
  }
  void skip_leb() {
    while ((number<uint8_t>() & 0x80) != 0) {
    }
  }
  std::string_view string() {
    std::string_view text = elf::string_at(bytes_, at_);
    skip(text.size() + 1);
    return text;
  }

private:
  std::string_view bytes_;
  size_t at_ = 0;
};

uint8_t read_pointer_encoding(Bytes& entry) {
  auto version = entry.number<uint8_t>();
  if (version != 1 && version != 3) throw elf::Error("an entry of .eh_frame is of an unknown version");
  std::string_view augmentation = entry.string();
  entry.skip_leb(); // alignment of code and data
  entry.skip_leb();
  if (version == 1)
    entry.skip(1); // the register of return addresses
  else
    entry.skip_leb();
  if (!augmentation.starts_with('z')) return DW_EH_PE_absptr;
  entry.skip_leb();
  for (char letter : augmentation.substr(1)) {
    switch (letter) {
    case 'R':
      return entry.number<uint8_t>();
    case 'L':
      entry.skip(1);
      break;
    case 'P': {
      uint8_t format = entry.number<uint8_t>() & 0x0f;
      entry.skip(format == DW_EH_PE_sdata4 || format == DW_EH_PE_udata4 ? 4 : 8);
      break;
    }
    case 'S':
    case 'B':
      break;
    default:
      throw elf::Error("an entry of .eh_frame has an unknown augmentation");
    }
  }
  return DW_EH_PE_absptr;
}

template <class T>
void put(std::vector<uint8_t>& to, T value) {
  size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

int32_t distance(uint64_t to, uint64_t from) {
  auto result = static_cast<int64_t>(to - from);
  if (result != static_cast<int32_t>(result))
    throw elf::Error(".eh_frame describes code that is too far away");
  return static_cast<int32_t>(result);
}

} // namespace

uint64_t frame_table_size(std::string_view bytes) {
  constexpr size_t kSmallestEntry = 12; // as far as it is read
  return kHeader + bytes.size() / kSmallestEntry * 8;
}

std::vector<uint8_t> make_frame_table(std::string_view bytes, uint64_t frames, uint64_t place) {
  std::map<size_t, uint8_t> encodings; // of the code addresses, by where the common entry is
  std::vector<std::pair<uint64_t, uint64_t>> table;
  for (size_t at = 0; at + 4 <= bytes.size();) {
    uint32_t length;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length == 0) break;
    if (length == UINT32_MAX || length > bytes.size() - at - 4)
      throw elf::Error("an entry of .eh_frame is cut off");
    Bytes entry(bytes.substr(0, at + 4 + length));
    entry.skip(at + 4);
    auto back = entry.number<uint32_t>();
    if (back == 0) {
      encodings[at] = read_pointer_encoding(entry);
    } else {
      auto common = encodings.find(at + 4 - back);
      if (common == encodings.end()) throw elf::Error("an entry of .eh_frame refers to nothing");
      uint64_t here = frames + entry.at(), begin = 0;
      if (common->second == kRelative32)
        begin = here + static_cast<uint64_t>(int64_t{entry.number<int32_t>()});
      else if (common->second == kRelative64)
        begin = here + entry.number<uint64_t>();
      else if (common->second == DW_EH_PE_absptr)
        begin = entry.number<uint64_t>();
      else
        throw elf::Error("an entry of .eh_frame has addresses of an unknown kind");
      table.emplace_back(begin, frames + at);
    }
    at += 4 + length;
  }
  std::ranges::sort(table);
  std::vector<uint8_t> header = {1, kRelative32, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4};
  put(header, distance(frames, place + header.size()));
  put(header, static_cast<uint32_t>(table.size()));
  for (auto [code, entry] : table) {
    put(header, distance(code, place));
    put(header, distance(entry, place));
  }
  return header;
}

} // namespace rdb::debug
