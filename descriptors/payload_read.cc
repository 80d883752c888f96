// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the payloads of an object and finds what their addresses point at now.
#include "descriptors/payload.h"
#include "descriptors/payload_format.h"

#include <cstring>
#include <map>

namespace rdb::descriptors {

namespace {

[[noreturn]] void damaged() {
  throw elf::Error("section .rdb is damaged");
}

// The last two characters of the magic number are the version.
bool is_of_another_version(const PayloadHeader& header) {
  constexpr size_t kName = sizeof header.magic - 2;
  return std::memcmp(header.magic, kPayloadMagic, kName) == 0 &&
         std::memcmp(header.magic + kName, kPayloadMagic + kName, 2) != 0;
}

// Takes values from the front of a record.
class Taker {
public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T value() {
    T result;
    bytes(sizeof result).copy(reinterpret_cast<char*>(&result), sizeof result);
    return result;
  }
  std::string string() {
    uint64_t size = value<uint64_t>();
    std::string result(bytes(size));
    bytes((8 - size % 8) % 8);
    return result;
  }

private:
  std::string_view bytes(uint64_t size) {
    if (size > bytes_.size()) damaged();
    std::string_view result = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return result;
  }
  std::string_view bytes_;
};

class PayloadReader {
public:
  explicit PayloadReader(const elf::File& object) : object_(object) {
    for (const elf::Section& section : object.sections())
      if (section.header.sh_type == SHT_GROUP)
        for (uint32_t member : object.group_members(section))
          grouped_[member] = true;
  }

  void read_section(const elf::Section& section, std::vector<CarriedPayload>& result) {
    relocations_.clear();
    for (const Elf64_Rela& relocation : object_.relocations_of(section.index))
      relocations_[relocation.r_offset] = relocation;
    uint64_t offset = 0;
    while (offset < section.bytes.size()) {
      // Linkers may pad between the sections that they join.
      if (section.bytes.size() - offset >= 8 &&
          section.bytes.substr(offset, 8) == std::string_view("\0\0\0\0\0\0\0\0", 8)) {
        offset += 8;
        continue;
      }
      offset += read_record(section.bytes.substr(offset), offset, result);
    }
  }

private:
  // Returns the record's size.
  uint64_t read_record(std::string_view bytes, uint64_t offset, std::vector<CarriedPayload>& result) {
    auto header = Taker(bytes).value<PayloadHeader>();
    if (is_of_another_version(header))
      throw elf::Error("the object is by another version of rdb-clang: compile its source again");
    if (std::memcmp(header.magic, kPayloadMagic, sizeof header.magic) != 0 || header.size % 8 != 0 ||
        header.size < sizeof header || header.size > bytes.size())
      damaged();
    Taker taker(bytes.substr(sizeof header, header.size - sizeof header));
    CarriedPayload carried;
    for (uint64_t i = 0; i < header.addresses; ++i) {
      uint64_t at = offset + sizeof header + i * sizeof(AddressSlot);
      carried.targets.push_back(target(taker.value<AddressSlot>(), at));
    }
    carried.payload.unit = taker.string();
    carried.payload.descriptors = taker.string();
    carried.payload.debug_object = taker.string();
    carried.payload.twin_object = taker.string();
    for (uint64_t i = 0; i < header.sources; ++i) {
      SourceText source;
      source.id = static_cast<uint32_t>(taker.value<uint64_t>());
      source.text = taker.string();
      carried.payload.sources.push_back(std::move(source));
    }
    result.push_back(std::move(carried));
    return header.size;
  }

  Target target(const AddressSlot& slot, uint64_t at) const {
    Target target;
    target.tls = (slot.flags & kAddressTls) != 0;
    auto found = relocations_.find(at);
    if (found == relocations_.end() || ELF64_R_TYPE(found->second.r_info) != R_X86_64_64) return target;
    uint64_t number = ELF64_R_SYM(found->second.r_info);
    if (number >= object_.symbols().size()) damaged();
    const elf::Symbol& symbol = object_.symbols()[number];
    target.offset = found->second.r_addend;
    if (target.tls && symbol.defined()) {
      target.symbol = symbol.index;
      target.kind = Target::Kind::symbol;
    } else if (symbol.in_section()) {
      target.section = symbol.section;
      target.offset += static_cast<int64_t>(symbol.raw.st_value);
      if ((slot.flags & kAddressGroup) != 0 && !same_code(slot, symbol.section)) return target;
      target.kind = Target::Kind::section;
    } else if (symbol.section == SHN_COMMON) {
      target.symbol = symbol.index;
      target.kind = Target::Kind::symbol;
    }
    return target;
  }

  // After `ld -r` a name may stand for another unit's copy of an inline function; if that was compiled
  // differently, this unit's descriptors say nothing about it.
  bool same_code(const AddressSlot& slot, uint32_t index) const {
    const elf::Section& section = object_.section(index);
    return grouped_.contains(index) && section.header.sh_size == slot.section_size &&
           content_hash(section.bytes) == slot.section_hash;
  }

  const elf::File& object_;
  std::map<uint32_t, bool> grouped_;
  std::map<uint64_t, Elf64_Rela> relocations_; // of the section being read, by offset
};

} // namespace

bool has_payload(const elf::File& object) {
  return object.find(".rdb") != nullptr;
}

std::vector<CarriedPayload> read_payloads(const elf::File& object) {
  std::vector<CarriedPayload> result;
  PayloadReader reader(object);
  for (const elf::Section& section : object.sections())
    if (section.index != 0 && section.name == ".rdb" && section.header.sh_type == SHT_PROGBITS)
      reader.read_section(section, result);
  return result;
}

} // namespace rdb::descriptors
