// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/twin_loader.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/frame_table.h"
#include "rdbtool/debug/twins/x86_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rdb::debug {
namespace {

struct RelocationSize {
  uint32_t type;
  unsigned bytes;
};
constexpr std::array<RelocationSize, 18> kSizes = {{{R_X86_64_64, 8},
                                                    {R_X86_64_PC64, 8},
                                                    {R_X86_64_32, 4},
                                                    {R_X86_64_32S, 4},
                                                    {R_X86_64_PC32, 4},
                                                    {R_X86_64_PLT32, 4},
                                                    {R_X86_64_GOTPCREL, 4},
                                                    {R_X86_64_GOTPCRELX, 4},
                                                    {R_X86_64_REX_GOTPCRELX, 4},
                                                    {R_X86_64_TPOFF32, 4},
                                                    {R_X86_64_TPOFF64, 8},
                                                    {R_X86_64_GOTTPOFF, 4},
                                                    {R_X86_64_TLSGD, 4},
                                                    {R_X86_64_TLSLD, 4},
                                                    {R_X86_64_DTPOFF32, 4},
                                                    {R_X86_64_DTPOFF64, 8},
                                                    {R_X86_64_NONE, 0},
                                                    {R_X86_64_SIZE64, 8}}};

unsigned size_of(uint32_t type) {
  for (const RelocationSize& each : kSizes)
    if (each.type == type) return each.bytes;
  return 1; // not known; it is refused
}

// Sections that are neither code nor data of functions.
bool is_placed(const elf::Section& section) {
  switch (section.header.sh_type) {
  case SHT_PROGBITS:
  case SHT_X86_64_UNWIND:
    break;
  case SHT_NOBITS: // variables that can change are the program's
  default:
    return false;
  }
  return section.allocated() && (section.header.sh_flags & SHF_TLS) == 0;
}

} // namespace

TwinLoader::TwinLoader(TwinObject& object, const TwinSurroundings& surroundings)
    : object_(object), elf_(*object.elf_), to_(surroundings), places_(place_sections()),
      symbols_(object, surroundings, places_) {}

std::vector<uint64_t> TwinLoader::place_sections() {
  std::vector<uint64_t> places(elf_.sections().size());
  object_.memory_.begin = to_.memory.take(0, 16);
  object_.frames_.code = {UINT64_MAX, 0};
  for (const elf::Section& section : elf_.sections()) {
    if (section.index == 0 || !is_placed(section)) continue;
    if ((section.header.sh_flags & SHF_COMPRESSED) != 0)
      throw elf::Error("a compressed section is to be loaded");
    // An end for the frames, which linkers add.
    uint64_t more = section.name == ".eh_frame" ? sizeof(uint64_t) : 0;
    uint64_t place = to_.memory.take(section.bytes.size() + more, section.header.sh_addralign);
    std::memcpy(reinterpret_cast<void*>(place), section.bytes.data(), section.bytes.size());
    places[section.index] = place;
    if (!is_code(section)) continue;
    guest::AddressRange& code = object_.frames_.code;
    code.begin = std::min(code.begin, place);
    code.end = std::max(code.end, place + section.bytes.size());
  }
  if (object_.frames_.code.end == 0) object_.frames_.code = {};
  return places;
}

void TwinLoader::run() {
  for (const elf::Section& section : elf_.sections())
    if (section.header.sh_type == SHT_RELA) relocate(section);
  stop_refused_functions();
  make_frames();
  object_.memory_.end = to_.memory.take(0, 16);
}

void TwinLoader::relocate(const elf::Section& table) {
  const elf::Section& section = elf_.section(table.header.sh_info);
  const uint64_t begin = places_[section.index];
  if (begin == 0) return;
  for (const Elf64_Rela& each : elf_.relocations(table)) {
    auto type = static_cast<uint32_t>(ELF64_R_TYPE(each.r_info));
    unsigned size = size_of(type);
    if (each.r_offset > section.bytes.size() || size > section.bytes.size() - each.r_offset)
      throw elf::Error("a relocation lies outside of its section");
    if (!symbols_.is_own_data(section, each.r_offset)) continue;
    apply({section, elf_.symbols()[ELF64_R_SYM(each.r_info)], each.r_offset, begin + each.r_offset,
           static_cast<uint64_t>(each.r_addend), type});
  }
}

void TwinLoader::apply(const Site& site) {
  const Use use = is_frames(site.section) ? Use::frames : Use::address;
  switch (site.type) {
  case R_X86_64_NONE:
    return;
  case R_X86_64_64:
    return put64(site, value_of(site, use));
  case R_X86_64_32:
  case R_X86_64_32S:
    return put32(site, value_of(site, use), site.type == R_X86_64_32S);
  case R_X86_64_PC64:
    return put64(site, relative_value_of(site, use) - site.place);
  case R_X86_64_PC32:
    return put_relative(site, relative_value_of(site, use));
  case R_X86_64_PLT32:
    return is_code(site.section) ? call(site) : put_relative(site, relative_value_of(site, use));
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    return load_address(site);
  case R_X86_64_TPOFF32:
  case R_X86_64_TPOFF64:
  case R_X86_64_GOTTPOFF:
  case R_X86_64_TLSGD:
  case R_X86_64_TLSLD:
  case R_X86_64_DTPOFF32:
  case R_X86_64_DTPOFF64:
    return apply_thread_local(site);
  default:
    return refuse(site, fmt::format("it has a relocation of type {}", site.type));
  }
}

uint64_t TwinLoader::value_of(const Site& site, Use use) {
  return symbols_.resolve(site.symbol, site.addend, use);
}

// What an operand of an instruction means is counted from the end of the instruction, and the addend has the
// distance to there in it. That does not matter, except where the symbol is only that of a section: then it
// is needed to know which variable is meant. It is four, unless a constant follows in the instruction.
uint64_t TwinLoader::relative_value_of(const Site& site, Use use) {
  const elf::Symbol& symbol = site.symbol;
  if (symbol.type() != STT_SECTION || !symbol.in_section()) return value_of(site, use);
  const elf::Section& section = elf_.section(symbol.section);
  // In data, it is the distance of two labels.
  if (!is_code(site.section)) return symbols_.own_or_poison(section, site.addend);
  uint64_t tail = 4;
  if (symbols_.has_local_variables(section.index))
    tail = end_of_instruction(site.section, site.offset) - site.offset;
  return symbols_.resolve(symbol, site.addend + tail, use) - tail;
}

void TwinLoader::put64(const Site& site, uint64_t value) {
  std::memcpy(reinterpret_cast<void*>(site.place), &value, sizeof value);
}

void TwinLoader::put32(const Site& site, uint64_t value, bool is_signed) {
  auto low = static_cast<uint32_t>(value);
  bool fits = is_signed ? value == static_cast<uint64_t>(int64_t{static_cast<int32_t>(low)}) : value == low;
  if (!fits)
    return refuse(site, (site.symbol.name.empty() ? "what it uses" : std::string(site.symbol.name)) +
                            " is too far away");
  std::memcpy(reinterpret_cast<void*>(site.place), &low, sizeof low);
}

void TwinLoader::put_relative(const Site& site, uint64_t target) {
  put32(site, target - site.place, true);
}

void TwinLoader::call(const Site& site) {
  constexpr uint64_t kTail = 4;
  // Where the operand's end is, the call leads to.
  uint64_t target = site.symbol.type() == STT_SECTION
                        ? symbols_.resolve(site.symbol, site.addend + kTail, Use::call)
                        : symbols_.resolve(site.symbol, 0, Use::call) + site.addend + kTail;
  auto distance = static_cast<int64_t>(target - site.place - kTail);
  if (distance != static_cast<int32_t>(distance)) target = jump_to(target);
  put_relative(site, target - kTail);
}

// mov x@GOTPCREL(%rip), %rax: the address is loaded from a word. So is that of a function to be called, if
// the compiler was told so.
void TwinLoader::load_address(const Site& site) {
  const bool is_call = is_indirect_call(site);
  uint64_t address = symbols_.resolve(site.symbol, 0, is_call ? Use::call : Use::address);
  put_relative(site, word(words_, address) + site.addend);
}

bool TwinLoader::is_indirect_call(const Site& site) const {
  if (site.type == R_X86_64_REX_GOTPCRELX || !is_code(site.section) || site.offset < 2) return false;
  auto first = static_cast<uint8_t>(site.section.bytes[site.offset - 2]);
  auto second = static_cast<uint8_t>(site.section.bytes[site.offset - 1]);
  return first == 0xFF && (second == 0x15 || second == 0x25);
}

void TwinLoader::apply_thread_local(const Site& site) {
  const bool is_block = site.type == R_X86_64_TLSLD; // of the image's variables, whichever
  TwinSymbols::ThreadLocal variable = {{}, to_.image, 0};
  if (!is_block) variable = symbols_.thread_local_variable(site.symbol);
  if (!variable.why.empty()) return refuse(site, variable.why);
  if (site.type == R_X86_64_DTPOFF32 || site.type == R_X86_64_DTPOFF64) {
    uint64_t value = variable.offset + site.addend;
    return site.type == R_X86_64_DTPOFF64 ? put64(site, value) : put32(site, value, true);
  }
  const std::string name = is_block ? "variables" : "variable '" + std::string(site.symbol.name) + "'";
  if (site.type == R_X86_64_TLSGD || is_block) {
    auto number = to_.images.thread_block_number(variable.image);
    if (!number) return refuse(site, "where the thread-local " + name + " is cannot be found out");
    auto [known, is_new] = blocks_.try_emplace({*number, variable.offset}, 0);
    if (is_new) {
      known->second = to_.memory.take(2 * sizeof(uint64_t), sizeof(uint64_t));
      const uint64_t block[2] = {*number, variable.offset};
      std::memcpy(reinterpret_cast<void*>(known->second), block, sizeof block);
    }
    return put_relative(site, known->second + site.addend);
  }
  auto begin = to_.images.thread_pointer_offset(variable.image);
  if (!begin) return refuse(site, "where the thread-local " + name + " is cannot be found out");
  uint64_t offset = *begin + variable.offset;
  if (site.type == R_X86_64_GOTTPOFF) return put_relative(site, word(words_, offset) + site.addend);
  offset += site.addend;
  return site.type == R_X86_64_TPOFF64 ? put64(site, offset) : put32(site, offset, true);
}

uint64_t TwinLoader::word(std::unordered_map<uint64_t, uint64_t>& words, uint64_t content) {
  auto [known, is_new] = words.try_emplace(content, 0);
  if (is_new) {
    known->second = to_.memory.take(sizeof content, sizeof content);
    std::memcpy(reinterpret_cast<void*>(known->second), &content, sizeof content);
  }
  return known->second;
}

uint64_t TwinLoader::jump_to(uint64_t target) {
  auto [known, is_new] = jumps_.try_emplace(target, 0);
  if (!is_new) return known->second;
  constexpr uint8_t kJump[] = {0xFF, 0x25, 2, 0, 0, 0, 0x0F, 0x0B};
  known->second = to_.memory.take(sizeof kJump + sizeof target, 16);
  std::memcpy(reinterpret_cast<void*>(known->second), kJump, sizeof kJump);
  std::memcpy(reinterpret_cast<void*>(known->second + sizeof kJump), &target, sizeof target);
  return known->second;
}

uint64_t TwinLoader::end_of_instruction(const elf::Section& section, uint64_t offset) {
  const uint64_t place = places_[section.index];
  std::optional<uint32_t> function = object_.function_around(place + offset);
  uint64_t begin = function ? object_.functions_[*function].code - place : 0;
  uint64_t end = function ? begin + object_.functions_[*function].size : section.bytes.size();
  auto [known, is_new] = ends_.try_emplace(place + begin);
  if (is_new) {
    for (uint64_t at = begin; at < end;) {
      ZydisDecodedInstruction instruction;
      bool is_known = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
          &x86_decoder(), nullptr, section.bytes.data() + at, section.bytes.size() - at, &instruction));
      at += is_known ? instruction.length : 1;
      known->second.push_back(at);
    }
  }
  auto found = std::ranges::upper_bound(known->second, offset);
  return std::max(found == known->second.end() ? end : *found, offset + 4);
}

// The function that has this place is not to be run.
void TwinLoader::refuse(const Site& site, const std::string& why) {
  std::optional<uint32_t> function = object_.function_around(site.place);
  if (!function) limit("{} in {}: {}", why, site.section.name, "this twin cannot be loaded");
  std::string& refused = object_.functions_[*function].refused;
  if (refused.empty()) refused = why;
}

void TwinLoader::stop_refused_functions() {
  for (TwinFunction& function : object_.functions_) {
    if (function.refused.empty()) continue;
    uint64_t stub = to_.memory.add_stub({TwinStub::Kind::refused, &object_, 0, function.refused});
    constexpr uint8_t kJump = 0xE9;
    auto distance = static_cast<int32_t>(stub - function.code - 5);
    if (function.size < 5) limit("a function of {} bytes that cannot be loaded", function.size);
    std::memcpy(reinterpret_cast<void*>(function.code), &kJump, sizeof kJump);
    std::memcpy(reinterpret_cast<void*>(function.code + 1), &distance, sizeof distance);
  }
}

void TwinLoader::make_frames() {
  const elf::Section* frames = elf_.find(".eh_frame");
  if (frames == nullptr || places_[frames->index] == 0 || frames->bytes.empty()) return;
  uint64_t begin = places_[frames->index];
  uint64_t header = to_.memory.take(frame_table_size(frames->bytes), sizeof(uint32_t));
  std::vector<uint8_t> table =
      make_frame_table({reinterpret_cast<const char*>(begin), frames->bytes.size()}, begin, header);
  std::memcpy(reinterpret_cast<void*>(header), table.data(), table.size());
  object_.frames_.frames = begin;
  object_.frames_.header = header;
}

} // namespace rdb::debug
