// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/arguments.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

using descriptors::Class;
using descriptors::Part;

constexpr descriptors::Register kFirstXmm = 17;
constexpr descriptors::Register kLastXmm = 32;

// The bytes of a register, low ones first; how many there are.
size_t register_bytes(const ArgumentSource& source, descriptors::Register number, std::byte (&out)[64]) {
  if (number >= kFirstXmm && number <= kLastXmm) {
    source.engine.read_vector(number - kFirstXmm, out);
    return engine::cpu().avx ? 32 : 16;
  }
  uint64_t value = general_register(source.engine.registers(), number);
  std::memcpy(out, &value, 8);
  return 8;
}

// The guest address of a part that is in memory; nothing if it cannot be computed.
std::optional<uint64_t> address_of(const Part& part, const ArgumentSource& source) {
  switch (part.cls) {
  case Class::stack:
    return general_register(source.engine.registers(), part.reg) + static_cast<uint64_t>(part.reg_offset);
  case Class::global:
    return part.address.value + source.bias;
  case Class::tls:
    if (source.tls_block == 0) return std::nullopt;
    return source.tls_block + part.address.value;
  case Class::address:
    return evaluate(part.steps, source);
  default:
    return std::nullopt;
  }
}

bool in_memory(Class cls) {
  return cls == Class::stack || cls == Class::global || cls == Class::tls || cls == Class::address;
}

// Copies a part into `to`. False with a reason if it cannot be had.
bool copy_part(const Part& part, const ArgumentSource& source, std::byte* to, std::string& reason) {
  if (in_memory(part.cls)) {
    std::optional<uint64_t> address = address_of(part, source);
    if (address && source.memory.read(GuestAddr(*address), to, part.size) == part.size) return true;
    reason = "its memory cannot be read";
    return false;
  }
  switch (part.cls) {
  case Class::in_register: {
    std::byte bytes[64];
    size_t size = register_bytes(source, part.reg, bytes);
    if (part.size > size) {
      reason = "wider than its register";
      return false;
    }
    std::memcpy(to, bytes, part.size);
    return true;
  }
  case Class::unread:
    std::memset(to, 0, part.size);
    return true;
  case Class::constant:
    std::memcpy(to, part.bytes.data(), std::min<size_t>(part.size, part.bytes.size()));
    return true;
  case Class::value: {
    std::optional<uint64_t> value = evaluate(part.steps, source);
    if (!value) {
      reason = "its expression cannot be computed";
      return false;
    }
    std::memcpy(to, &*value, std::min<size_t>(part.size, sizeof *value));
    return true;
  }
  default:
    reason = part.reason.empty() ? "unavailable" : part.reason;
    return false;
  }
}

} // namespace

std::byte* ArgumentBuffer::take(size_t size, size_t align) {
  used_ = (used_ + align - 1) & ~(align - 1);
  if (used_ + size > bytes_.size())
    limit("region arguments of more than {} bytes in registers", bytes_.size());
  std::byte* result = bytes_.data() + used_;
  used_ += size;
  return result;
}

void* locate(const descriptors::Argument& argument, const ArgumentSource& source, ArgumentBuffer& buffer,
             std::string& reason) {
  if (argument.parts.size() == 1 && in_memory(argument.parts[0].cls)) {
    if (std::optional<uint64_t> address = address_of(argument.parts[0], source))
      return reinterpret_cast<void*>(*address);
    reason = "its address cannot be computed";
    return nullptr;
  }
  std::byte* copy = buffer.take(std::max<size_t>(argument.size, 1), std::max<size_t>(argument.align, 16));
  for (const Part& part : argument.parts)
    if (!copy_part(part, source, copy + part.offset, reason)) return nullptr;
  return copy;
}

} // namespace rdb::debug
