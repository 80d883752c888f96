// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/loaded_images.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace rdb::debug {
namespace {

// Of several versions of a symbol, one is for programs that are linked now; the others have this bit.
constexpr uint16_t kHiddenVersion = 0x8000;

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

struct Dynamic {
  std::string_view name; // of the library; empty: it has none
  std::vector<std::string_view> needed;
};

Dynamic read_dynamic(const elf::File& file) {
  Dynamic result;
  const elf::Section* section = file.find(".dynamic");
  const elf::Section* strings = file.find(".dynstr");
  if (section == nullptr || strings == nullptr) return result;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= section->bytes.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, section->bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) result.needed.push_back(elf::string_at(strings->bytes, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) result.name = elf::string_at(strings->bytes, entry.d_un.d_val);
  }
  return result;
}

} // namespace

// The dynamic symbols of an image, and the words where the dynamic linker puts addresses.
struct LoadedImages::Names {
  std::vector<elf::Symbol> symbols;
  NameIndex defined;
  std::vector<ProgramFile::FunctionSlot> slots;
  NameIndex slot_of;
  guest::AddressRange loaded; // as linked
};

LoadedImages::LoadedImages(std::vector<LoadedImage> images, ReadMemory read)
    : images_(std::move(images)), read_(std::move(read)), names_(images_.size()) {
  find_order();
}

// The program, then what it needs, then what those need, then what was loaded later.
void LoadedImages::find_order() {
  std::vector<Dynamic> dynamic;
  dynamic.reserve(images_.size());
  for (const LoadedImage& image : images_)
    dynamic.push_back(read_dynamic(image.file->elf()));
  std::vector<bool> seen(images_.size());
  for (size_t first = 0; first < images_.size(); ++first) {
    std::deque<size_t> waiting = {first};
    while (!waiting.empty()) {
      size_t at = waiting.front();
      waiting.pop_front();
      if (seen[at]) continue;
      seen[at] = true;
      order_.push_back(at);
      for (std::string_view needed : dynamic[at].needed)
        for (size_t i = 0; i < images_.size(); ++i)
          if (!seen[i] && (dynamic[i].name == needed || base_of(images_[i].path) == base_of(needed)))
            waiting.push_back(i);
    }
    if (first == 0) from_beginning_ = order_.size();
  }
}

LoadedImages::Names& LoadedImages::names(size_t image) {
  if (names_[image]) return *names_[image];
  auto made = std::make_shared<Names>();
  const ProgramFile& file = *images_[image].file;
  made->symbols = file.elf().dynamic_symbols();
  std::string_view versions;
  for (const elf::Section& section : file.elf().sections())
    if (section.header.sh_type == SHT_GNU_versym) versions = section.bytes;
  auto is_hidden = [&](uint32_t index) {
    uint16_t version = 0;
    if ((index + 1) * sizeof version > versions.size()) return false;
    std::memcpy(&version, versions.data() + index * sizeof version, sizeof version);
    return (version & kHiddenVersion) != 0;
  };
  for (const elf::Symbol& symbol : made->symbols)
    if (symbol.defined() && symbol.global() && !symbol.name.empty() && !is_hidden(symbol.index))
      made->defined.add(symbol.name, symbol.index);
  made->slots = file.function_slots();
  for (uint32_t i = 0; i < made->slots.size(); ++i)
    made->slot_of.add(made->slots[i].name, i);
  made->loaded = {UINT64_MAX, 0};
  for (const Elf64_Phdr& segment : file.elf().segments()) {
    if (segment.p_type != PT_LOAD) continue;
    made->loaded.begin = std::min(made->loaded.begin, segment.p_vaddr);
    made->loaded.end = std::max(made->loaded.end, segment.p_vaddr + segment.p_memsz);
  }
  names_[image] = made;
  return *made;
}

std::optional<LoadedImages::Found> LoadedImages::find(std::string_view name) {
  for (size_t image : order_) {
    Names& known = names(image);
    std::optional<uint32_t> index;
    known.defined.find(name, [&](uint32_t number) { index = number; });
    if (!index) continue;
    const elf::Symbol& symbol = known.symbols[*index];
    uint64_t bias = symbol.type() == STT_TLS || !symbol.in_section() ? 0 : images_[image].bias;
    return Found{image, symbol, symbol.raw.st_value + bias};
  }
  return std::nullopt;
}

std::optional<uint64_t> LoadedImages::resolved(size_t image, std::string_view name) {
  Names& known = names(image);
  const uint64_t bias = images_[image].bias;
  std::optional<uint64_t> result;
  known.slot_of.find(name, [&](uint32_t number) {
    uint64_t value = 0;
    if (!read_(known.slots[number].address + bias, &value, sizeof value) || value == 0) return;
    // Before the first call, a word of this kind leads back into the image.
    bool is_own = value - bias >= known.loaded.begin && value - bias < known.loaded.end;
    bool is_defined = false;
    if (is_own)
      known.defined.find(
          name, [&](uint32_t index) { is_defined |= known.symbols[index].raw.st_value + bias == value; });
    if (!is_own || is_defined) result = value;
  });
  return result;
}

std::optional<uint64_t> LoadedImages::resolved(std::string_view name) {
  for (size_t image : order_)
    if (std::optional<uint64_t> found = resolved(image, name)) return found;
  return std::nullopt;
}

std::optional<uint64_t> LoadedImages::thread_pointer_offset(size_t image) const {
  ThreadBlockRule rule = images_[image].file->thread_block_rule();
  // Only the program's block is there: a library that can be run as a program looks like one, too.
  if (rule.below != 0) return image == 0 ? std::optional(0 - rule.below) : std::nullopt;
  uint64_t offset = 0;
  if (rule.offset_at && read_(*rule.offset_at + images_[image].bias, &offset, sizeof offset))
    return offset - rule.offset_of;
  // glibc has the address of the current thread's table of blocks in its second word.
  constexpr uint64_t kTableAt = 8, kEntry = 16;
  auto end = order_.begin() + static_cast<std::ptrdiff_t>(from_beginning_);
  auto number = thread_block_number(image);
  if (!number || thread_pointer_ == 0 || std::find(order_.begin(), end, image) == end) return std::nullopt;
  uint64_t table = 0, block = 0;
  if (!read_(thread_pointer_ + kTableAt, &table, sizeof table) ||
      !read_(table + *number * kEntry, &block, sizeof block) || block + 1 <= 1)
    return std::nullopt;
  return block - thread_pointer_;
}

std::optional<uint64_t> LoadedImages::thread_block_number(size_t image) const {
  ThreadBlockRule rule = images_[image].file->thread_block_rule();
  uint64_t number = 0;
  if (rule.below != 0) return image == 0 ? std::optional<uint64_t>(1) : std::nullopt; // it counts from there
  if (rule.number_at && read_(*rule.number_at + images_[image].bias, &number, sizeof number) && number != 0)
    return number;
  return std::nullopt;
}

std::vector<guest::AddressRange> LoadedImages::tables_of_addresses() const {
  std::vector<guest::AddressRange> ranges;
  for (const LoadedImage& image : images_)
    for (const elf::Section& section : image.file->elf().sections())
      if (section.allocated() && section.name.starts_with(".got"))
        ranges.push_back({section.header.sh_addr + image.bias,
                          section.header.sh_addr + section.header.sh_size + image.bias});
  return ranges;
}

} // namespace rdb::debug
