// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where each of gdb's registers lies in ours. Most are plain fields; the x87 control registers and tags have
// to be taken from, and put into, the form that fxsave gives them.
#include "rdbtool/gdb/protocol/register_file.h"

#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace rdb::gdb {

namespace {

// Places in an XSAVE image of the standard layout.
constexpr size_t kX87Registers = 32;
constexpr size_t kXmm = 160;
constexpr size_t kMxcsr = 24;
constexpr size_t kStateBits = 512;
constexpr size_t kYmmHigh = 576;
constexpr size_t kImageSize = kYmmHigh + 256;

// Components, as bits of the word at kStateBits: a clear one is in its initial state, whatever its bytes say.
constexpr uint64_t kX87Component = 1;
constexpr uint64_t kSseComponent = 2;
constexpr uint64_t kAvxComponent = 4;

enum class Where : uint8_t {
  general, // gpr[index]
  rip,
  rflags,
  segment, // cs, ss, ds, es, fs, gs
  x87,     // st(index)
  control, // fctrl, fstat, ftag, fiseg, fioff, foseg, fooff, fop
  xmm,
  mxcsr,
  orig_rax,
  base, // fs_base, gs_base
  ymm_high,
};

struct RegisterRow {
  std::string name;
  unsigned bits;
  const char* type;
  const char* group; // may be null
  const char* feature;
  Where where;
  unsigned index;
};

std::vector<RegisterRow> make_table() {
  constexpr const char* kCore = "org.gnu.gdb.i386.core";
  constexpr const char* kSse = "org.gnu.gdb.i386.sse";
  std::vector<RegisterRow> table;
  // gdb's order, with the index in the order of the encoding.
  constexpr struct {
    const char* name;
    unsigned index;
  } kGeneral[] = {{"rax", 0},  {"rbx", 3},  {"rcx", 1},  {"rdx", 2}, {"rsi", 6},  {"rdi", 7},
                  {"rbp", 5},  {"rsp", 4},  {"r8", 8},   {"r9", 9},  {"r10", 10}, {"r11", 11},
                  {"r12", 12}, {"r13", 13}, {"r14", 14}, {"r15", 15}};
  for (auto [name, index] : kGeneral) {
    bool pointer = index == 4 || index == 5;
    table.push_back({name, 64, pointer ? "data_ptr" : "int64", nullptr, kCore, Where::general, index});
  }
  table.push_back({"rip", 64, "code_ptr", nullptr, kCore, Where::rip, 0});
  table.push_back({"eflags", 32, "i386_eflags", nullptr, kCore, Where::rflags, 0});
  unsigned index = 0;
  for (const char* name : {"cs", "ss", "ds", "es", "fs", "gs"})
    table.push_back({name, 32, "int32", nullptr, kCore, Where::segment, index++});
  for (index = 0; index < 8; ++index)
    table.push_back({fmt::format("st{}", index), 80, "i387_ext", nullptr, kCore, Where::x87, index});
  index = 0;
  for (const char* name : {"fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"})
    table.push_back({name, 32, "int", "float", kCore, Where::control, index++});
  for (index = 0; index < 16; ++index)
    table.push_back({fmt::format("xmm{}", index), 128, "vec128", nullptr, kSse, Where::xmm, index});
  table.push_back({"mxcsr", 32, "i386_mxcsr", "vector", kSse, Where::mxcsr, 0});
  table.push_back({"orig_rax", 64, "int", "system", "org.gnu.gdb.i386.linux", Where::orig_rax, 0});
  table.push_back({"fs_base", 64, "int", nullptr, "org.gnu.gdb.i386.segments", Where::base, 0});
  table.push_back({"gs_base", 64, "int", nullptr, "org.gnu.gdb.i386.segments", Where::base, 1});
  for (index = 0; index < 16; ++index)
    table.push_back({fmt::format("ymm{}h", index), 128, "uint128", nullptr, "org.gnu.gdb.i386.avx",
                     Where::ymm_high, index});
  return table;
}

const std::vector<RegisterRow>& table() {
  static const std::vector<RegisterRow> entries = make_table();
  return entries;
}

// Types that the features need to have defined.
constexpr const char* kCoreTypes = R"(
<flags id="i386_eflags" size="4">
<field name="" start="22" end="31"/><field name="ID" start="21" end="21"/>
<field name="VIP" start="20" end="20"/><field name="VIF" start="19" end="19"/>
<field name="AC" start="18" end="18"/><field name="VM" start="17" end="17"/>
<field name="RF" start="16" end="16"/><field name="NT" start="14" end="14"/>
<field name="OF" start="11" end="11"/><field name="DF" start="10" end="10"/>
<field name="IF" start="9" end="9"/><field name="TF" start="8" end="8"/>
<field name="SF" start="7" end="7"/><field name="ZF" start="6" end="6"/>
<field name="AF" start="4" end="4"/><field name="PF" start="2" end="2"/>
<field name="" start="1" end="1"/><field name="CF" start="0" end="0"/>
</flags>
)";
constexpr const char* kSseTypes = R"(
<vector id="v4f" type="ieee_single" count="4"/><vector id="v2d" type="ieee_double" count="2"/>
<vector id="v16i8" type="int8" count="16"/><vector id="v8i16" type="int16" count="8"/>
<vector id="v4i32" type="int32" count="4"/><vector id="v2i64" type="int64" count="2"/>
<union id="vec128">
<field name="v4_float" type="v4f"/><field name="v2_double" type="v2d"/><field name="v16_int8" type="v16i8"/>
<field name="v8_int16" type="v8i16"/><field name="v4_int32" type="v4i32"/>
<field name="v2_int64" type="v2i64"/><field name="uint128" type="uint128"/>
</union>
<flags id="i386_mxcsr" size="4">
<field name="IE" start="0" end="0"/><field name="DE" start="1" end="1"/><field name="ZE" start="2" end="2"/>
<field name="OE" start="3" end="3"/><field name="UE" start="4" end="4"/><field name="PE" start="5" end="5"/>
<field name="DAZ" start="6" end="6"/><field name="IM" start="7" end="7"/><field name="DM" start="8" end="8"/>
<field name="ZM" start="9" end="9"/><field name="OM" start="10" end="10"/><field name="UM" start="11" end="11"/>
<field name="PM" start="12" end="12"/><field name="FZ" start="15" end="15"/>
</flags>
)";

// A register image in which components in their initial state have that state's bytes.
Bytes settled_image(const ThreadRegisters& registers) {
  Bytes image = registers.vectors;
  image.resize(kImageSize);
  uint64_t present = 0;
  std::memcpy(&present, &image[kStateBits], sizeof present);
  if (registers.vectors.size() < kStateBits + sizeof present) present = kX87Component | kSseComponent;
  if (!(present & kX87Component)) {
    constexpr uint16_t kInitialControl = 0x37f;
    std::memset(image.data(), 0, kMxcsr);
    std::memcpy(image.data(), &kInitialControl, sizeof kInitialControl);
    std::memset(&image[kX87Registers], 0, kXmm - kX87Registers);
  }
  if (!(present & kSseComponent)) std::memset(&image[kXmm], 0, 256);
  if (!(present & kAvxComponent)) std::memset(&image[kYmmHigh], 0, 256);
  // XSAVE writes mxcsr with either vector component; an image that never had one shows the initial value.
  uint32_t mxcsr = 0;
  std::memcpy(&mxcsr, &image[kMxcsr], sizeof mxcsr);
  if (!(present & (kSseComponent | kAvxComponent)) && mxcsr == 0) mxcsr = 0x1f80;
  std::memcpy(&image[kMxcsr], &mxcsr, sizeof mxcsr);
  return image;
}

template <class T>
T at(const Bytes& image, size_t place) {
  T value;
  std::memcpy(&value, &image[place], sizeof value);
  return value;
}

// fxsave keeps one bit per register, "not empty"; gdb wants the two bits of the full tag word.
uint16_t full_tags(const Bytes& image) {
  uint16_t status = at<uint16_t>(image, 2);
  uint8_t present = at<uint8_t>(image, 4);
  unsigned top = status >> 11 & 7;
  uint16_t tags = 0;
  for (unsigned physical = 0; physical < 8; ++physical) {
    unsigned tag = 3; // empty
    if (present >> physical & 1) {
      size_t place = kX87Registers + 16 * ((physical + 8 - top) % 8);
      uint64_t fraction = at<uint64_t>(image, place);
      unsigned exponent = at<uint16_t>(image, place + 8) & 0x7fff;
      if (exponent == 0x7fff)
        tag = 2;
      else if (exponent == 0)
        tag = fraction == 0 ? 1 : 2;
      else
        tag = fraction >> 63 != 0 ? 0 : 2;
    }
    tags = static_cast<uint16_t>(tags | tag << (2 * physical));
  }
  return tags;
}

uint8_t short_tags(uint32_t tags) {
  uint8_t present = 0;
  for (unsigned physical = 0; physical < 8; ++physical)
    if ((tags >> (2 * physical) & 3) != 3) present |= static_cast<uint8_t>(1 << physical);
  return present;
}

uint32_t control_value(const Bytes& image, unsigned index) {
  switch (index) {
  case 0:
    return at<uint16_t>(image, 0); // fctrl
  case 1:
    return at<uint16_t>(image, 2); // fstat
  case 2:
    return full_tags(image);
  case 3:
    return at<uint16_t>(image, 12); // fiseg
  case 4:
    return at<uint32_t>(image, 8); // fioff
  case 5:
    return at<uint16_t>(image, 20); // foseg
  case 6:
    return at<uint32_t>(image, 16); // fooff
  default:
    return at<uint16_t>(image, 6) & 0x7ff; // fop
  }
}

void set_control_value(Bytes& image, unsigned index, uint32_t value) {
  auto put16 = [&](size_t place) {
    auto half = static_cast<uint16_t>(value);
    std::memcpy(&image[place], &half, sizeof half);
  };
  switch (index) {
  case 0:
    return put16(0);
  case 1:
    return put16(2);
  case 2:
    image[4] = static_cast<std::byte>(short_tags(value));
    return;
  case 3:
    return put16(12);
  case 4:
    std::memcpy(&image[8], &value, sizeof value);
    return;
  case 5:
    return put16(20);
  case 6:
    std::memcpy(&image[16], &value, sizeof value);
    return;
  default:
    return put16(6);
  }
}

constexpr uint16_t ThreadRegisters::* kSegments[] = {&ThreadRegisters::cs, &ThreadRegisters::ss,
                                                     &ThreadRegisters::ds, &ThreadRegisters::es,
                                                     &ThreadRegisters::fs, &ThreadRegisters::gs};

template <class T>
Bytes bytes_of(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Bytes slice(const Bytes& image, size_t place, size_t size) {
  return {image.begin() + static_cast<ptrdiff_t>(place),
          image.begin() + static_cast<ptrdiff_t>(place + size)};
}

Bytes entry_bytes(const RegisterRow& entry, const ThreadRegisters& registers, const Bytes& image) {
  switch (entry.where) {
  case Where::general:
    return bytes_of(registers.gpr[entry.index]);
  case Where::rip:
    return bytes_of(registers.rip);
  case Where::rflags:
    return bytes_of(static_cast<uint32_t>(registers.rflags));
  case Where::segment:
    return bytes_of(static_cast<uint32_t>(registers.*kSegments[entry.index]));
  case Where::x87:
    return slice(image, kX87Registers + 16 * entry.index, 10);
  case Where::control:
    return bytes_of(control_value(image, entry.index));
  case Where::xmm:
    return slice(image, kXmm + 16 * entry.index, 16);
  case Where::mxcsr:
    return slice(image, kMxcsr, 4);
  case Where::orig_rax:
    return bytes_of(registers.orig_rax);
  case Where::base:
    return bytes_of(entry.index == 0 ? registers.fs_base : registers.gs_base);
  case Where::ymm_high:
    return slice(image, kYmmHigh + 16 * entry.index, 16);
  }
  return {};
}

uint64_t number_of(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

void set_entry(const RegisterRow& entry, ThreadRegisters& registers, std::span<const std::byte> bytes) {
  uint64_t number = number_of(bytes);
  switch (entry.where) {
  case Where::general:
    registers.gpr[entry.index] = number;
    return;
  case Where::rip:
    registers.rip = number;
    return;
  case Where::rflags:
    registers.rflags = number;
    return;
  case Where::segment:
    registers.*kSegments[entry.index] = static_cast<uint16_t>(number);
    return;
  case Where::orig_rax:
    registers.orig_rax = number;
    return;
  case Where::base:
    (entry.index == 0 ? registers.fs_base : registers.gs_base) = number;
    return;
  default:
    break;
  }
  // A value that is there already must not bring a component out of its initial state: gdb writes all
  // registers back after a call, and the state has to be the same as before.
  Bytes image = settled_image(registers);
  Bytes present = entry_bytes(entry, registers, image);
  if (std::equal(bytes.begin(), bytes.end(), present.begin(), present.end())) return;
  uint64_t components = at<uint64_t>(image, kStateBits);
  auto put = [&](size_t place) { std::memcpy(&image[place], bytes.data(), bytes.size()); };
  switch (entry.where) {
  case Where::x87:
    put(kX87Registers + 16 * entry.index);
    components |= kX87Component;
    break;
  case Where::control:
    set_control_value(image, entry.index, static_cast<uint32_t>(number));
    components |= kX87Component;
    break;
  case Where::xmm:
    put(kXmm + 16 * entry.index);
    components |= kSseComponent;
    break;
  case Where::mxcsr:
    put(kMxcsr);
    components |= kSseComponent;
    break;
  default: // ymm_high
    put(kYmmHigh + 16 * entry.index);
    components |= kAvxComponent;
    break;
  }
  std::memcpy(&image[kStateBits], &components, sizeof components);
  size_t size = std::max(registers.vectors.size(), kImageSize);
  registers.vectors.resize(size);
  std::memcpy(registers.vectors.data(), image.data(), kImageSize);
}

} // namespace

unsigned register_count() {
  return static_cast<unsigned>(table().size());
}

std::string target_description() {
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target version=\"1.0\">\n"
      "<architecture>i386:x86-64</architecture>\n<osabi>GNU/Linux</osabi>\n";
  std::string feature;
  unsigned number = 0;
  for (const RegisterRow& entry : table()) {
    if (feature != entry.feature) {
      if (!feature.empty()) xml += "</feature>\n";
      feature = entry.feature;
      xml += fmt::format("<feature name=\"{}\">\n", feature);
      if (feature.ends_with(".core")) xml += kCoreTypes;
      if (feature.ends_with(".sse")) xml += kSseTypes;
    }
    xml +=
        fmt::format("<reg name=\"{}\" bitsize=\"{}\" type=\"{}\" regnum=\"{}\"{}/>\n", entry.name, entry.bits,
                    entry.type, number++, entry.group ? fmt::format(" group=\"{}\"", entry.group) : "");
  }
  return xml + "</feature>\n</target>\n";
}

std::optional<Bytes> register_bytes(const ThreadRegisters& registers, unsigned number) {
  if (number >= table().size()) return std::nullopt;
  return entry_bytes(table()[number], registers, settled_image(registers));
}

bool set_register_bytes(ThreadRegisters& registers, unsigned number, std::span<const std::byte> bytes) {
  if (number >= table().size() || bytes.size() != table()[number].bits / 8) return false;
  set_entry(table()[number], registers, bytes);
  return true;
}

Bytes all_register_bytes(const ThreadRegisters& registers) {
  Bytes image = settled_image(registers);
  Bytes all;
  for (const RegisterRow& entry : table()) {
    Bytes bytes = entry_bytes(entry, registers, image);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

bool set_all_register_bytes(ThreadRegisters& registers, std::span<const std::byte> bytes) {
  ThreadRegisters changed = registers;
  for (const RegisterRow& entry : table()) {
    size_t size = entry.bits / 8;
    if (bytes.size() < size) return false;
    set_entry(entry, changed, bytes.first(size));
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return false;
  registers = std::move(changed);
  return true;
}

std::optional<uint64_t> register_number_value(const ThreadRegisters& registers, unsigned number) {
  if (number >= table().size()) return std::nullopt;
  const RegisterRow& entry = table()[number];
  if (entry.bits > 64) return std::nullopt;
  // The common ones without a copy of the vector state.
  if (entry.where == Where::general) return registers.gpr[entry.index];
  if (entry.where == Where::rip) return registers.rip;
  return number_of(entry_bytes(entry, registers, settled_image(registers)));
}

} // namespace rdb::gdb
