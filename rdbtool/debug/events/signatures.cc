// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/signatures.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/print/dwarf_depth.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/replay/debug_info_size.h"
#include "rdbtool/syscalls/structure_text.h"

#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

constexpr int kDeepestType = 16;

// The type behind names and qualifiers.
bool bare_type(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) == nullptr) return false;
  for (int i = 0; i < kDeepestType; ++i) {
    int tag = dwarf_tag(type);
    if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
        tag != DW_TAG_restrict_type)
      return true;
    if (dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attribute), type) == nullptr) return false;
  }
  return false;
}

Value value_of(Dwarf_Die* die) {
  Value value;
  Dwarf_Die type;
  if (!bare_type(die, &type)) return {Value::Kind::nothing, 0, false};
  Dwarf_Word size = 0, encoding = 0;
  dwarf_aggregate_size(&type, &size);
  value.size = static_cast<unsigned>(size);
  switch (dwarf_tag(&type)) {
  case DW_TAG_enumeration_type:
    if (size > 0) value.kind = Value::Kind::integer;
    value.is_signed = true;
    return value;
  case DW_TAG_base_type: {
    Dwarf_Attribute attribute;
    dwarf_formudata(dwarf_attr(&type, DW_AT_encoding, &attribute), &encoding);
    if (encoding == DW_ATE_float)
      value.kind = size <= 8 ? Value::Kind::floating : Value::Kind::other;
    else if (size > 0 && size <= 8)
      value.kind = Value::Kind::integer;
    value.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    return value;
  }
  case DW_TAG_pointer_type:
  case DW_TAG_reference_type:
  case DW_TAG_rvalue_reference_type: {
    value.kind = Value::Kind::pointer;
    value.size = 8;
    Dwarf_Die target;
    if (bare_type(&type, &target) && dwarf_tag(&target) == DW_TAG_base_type) {
      Dwarf_Attribute attribute;
      dwarf_formudata(dwarf_attr(&target, DW_AT_encoding, &attribute), &encoding);
      if (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char)
        value.kind = Value::Kind::string;
    }
    return value;
  }
  default:
    return value;
  }
}

Signature signature_of(Dwarf_Die* function) {
  Signature signature;
  signature.result = value_of(function);
  Dwarf_Die origin = *function;
  Dwarf_Die child;
  if (dwarf_child(&origin, &child) != 0) return signature;
  do {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &attribute));
    signature.parameters.push_back({name != nullptr ? name : "", value_of(&child)});
  } while (dwarf_siblingof(&child, &child) == 0);
  return signature;
}

struct Reading {
  std::unordered_map<uint64_t, Signature>& known;
  uint64_t bias;
};

int on_function(Dwarf_Die* function, void* argument) {
  auto& reading = *static_cast<Reading*>(argument);
  Dwarf_Addr entry;
  if (dwarf_entrypc(function, &entry) == 0)
    reading.known.try_emplace(entry + reading.bias, signature_of(function));
  return DWARF_CB_OK;
}

} // namespace

void Signatures::read(const replay::LoadedFile& file) {
  if (!replay::why_too_large(file.copy).empty()) return; // the backtracer says so
  int fd = open(file.copy.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (Dwarf* dwarf = dwarf_begin(fd, DWARF_C_READ)) {
    Reading reading{known_, ProgramFile(file.copy).bias(file.begin.value)};
    size_t header;
    for (Dwarf_Off at = 0, next; dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0;
         at = next) {
      Dwarf_Die unit;
      if (dwarf_offdie(dwarf, at + header, &unit) != nullptr && !is_too_deep(&unit))
        dwarf_getfuncs(&unit, on_function, &reading, 0);
    }
    dwarf_end(dwarf);
  }
  close(fd);
}

const Signature* Signatures::of(GuestAddr function) {
  auto found = known_.find(function.value);
  if (found != known_.end()) return &found->second;
  const guest::Mapping* mapping = replayer_.space().find(function.value);
  if (mapping == nullptr) return nullptr;
  for (const replay::LoadedFile& file : replayer_.mapped_files())
    if (file.path == mapping->name && read_.try_emplace(file.begin.value, file.path).second) {
      read(file);
      found = known_.find(function.value);
      return found != known_.end() ? &found->second : nullptr;
    }
  return nullptr;
}

std::string Signatures::show(const Value& value, uint64_t bits) {
  switch (value.kind) {
  case Value::Kind::integer:
    if (value.size < 8) {
      unsigned shift = 64 - 8 * value.size;
      bits = value.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift)
                             : bits << shift >> shift;
    }
    return value.is_signed ? fmt::format("{}", static_cast<int64_t>(bits)) : fmt::format("{}", bits);
  case Value::Kind::string:
    if (bits == 0) break;
    return c_string_text(guest::SpaceView(replayer_.space()), bits);
  case Value::Kind::floating: {
    if (value.size == 4) {
      float number;
      std::memcpy(&number, &bits, 4);
      return fmt::format("{}", number);
    }
    double number;
    std::memcpy(&number, &bits, 8);
    return fmt::format("{}", number);
  }
  default:
    break;
  }
  return bits == 0 && value.kind != Value::Kind::other ? "null" : fmt::format("{:#x}", bits);
}

std::string Signatures::arguments(const Signature& signature) {
  using namespace engine;
  static constexpr Gpr kOrder[6] = {RDI, RSI, RDX, RCX, R8, R9};
  std::string text;
  size_t integers = 0, vectors = 0;
  for (const Signature::Parameter& parameter : signature.parameters) {
    if (!text.empty()) text += ", ";
    if (!parameter.name.empty()) text += parameter.name + "=";
    if (parameter.value.kind == Value::Kind::other || integers >= 6 || vectors >= 8) {
      // Where the rest is depends on this one's type.
      text += "...";
      break;
    }
    uint64_t bits = 0;
    if (parameter.value.kind == Value::Kind::floating) {
      std::byte vector[32];
      replayer_.translator().read_vector(vectors++, vector);
      std::memcpy(&bits, vector, 8);
    } else {
      bits = replayer_.registers().gpr[kOrder[integers++]];
    }
    text += show(parameter.value, bits);
  }
  return text;
}

std::string Signatures::result(const Signature& signature) {
  uint64_t bits = replayer_.registers().gpr[engine::RAX];
  switch (signature.result.kind) {
  case Value::Kind::nothing:
    return "";
  case Value::Kind::floating: {
    std::byte vector[32];
    replayer_.translator().read_vector(0, vector);
    std::memcpy(&bits, vector, 8);
    break;
  }
  case Value::Kind::other:
    return "...";
  default:
    break;
  }
  return show(signature.result, bits);
}

} // namespace rdb::debug
