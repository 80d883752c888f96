// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/state_hash.h"

#include "rdbtool/base/hash.h"
#include "rdbtool/guest/memory/nonzero_pages.h"

#include <cstring>
#include <sys/mman.h>

namespace rdb::guest {
namespace {

bool is_zero(const uint8_t* page) {
  return page[0] == 0 && std::memcmp(page, page + 1, kPage - 1) == 0;
}

} // namespace

MemoryHash hash_memory(AddressSpace& space) {
  MemoryHash result;
  Xxh64 memory;
  const PageMap page_map;
  for (const auto& [begin, mapping] : space.mappings()) {
    if (!(mapping.protection & PROT_WRITE) || !(mapping.protection & PROT_READ)) continue;
    PossiblePages possible(mapping, page_map);
    for (uint64_t page = possible.next(mapping.begin); page < mapping.end;
         page = possible.next(page + kPage)) {
      // A page of a file beyond its end cannot be read.
      uint8_t copy[kPage];
      if (!is_own(mapping) && space.read(GuestAddr(page), copy, kPage) != kPage) continue;
      const uint8_t* bytes = is_own(mapping) ? reinterpret_cast<const uint8_t*>(page) : copy;
      if (is_zero(bytes)) continue;
      memory.update(&page, sizeof page);
      memory.update(bytes, kPage);
      ++result.pages;
    }
  }
  result.value = memory.digest();
  return result;
}

uint64_t hash_mappings(const AddressSpace& space) {
  Xxh64 hash;
  auto add = [&](uint64_t value) { hash.update(&value, sizeof value); };
  for (const auto& [begin, mapping] : space.mappings()) {
    for (uint64_t value : {mapping.begin, mapping.end, mapping.offset, mapping.device, mapping.inode,
                           mapping.object, mapping.view})
      add(value);
    add(static_cast<uint64_t>(mapping.protection));
    add(static_cast<uint64_t>(mapping.flags));
    hash.update(mapping.name.data(), mapping.name.size());
  }
  add(space.brk_begin());
  add(space.brk_end());
  return hash.digest();
}

StateHash hash_state(Machine& machine) {
  StateHash result;
  const MemoryHash memory = hash_memory(machine.space());
  result.memory = memory.value;
  result.pages = memory.pages;
  Xxh64 registers;
  if (machine.loaded() != nullptr) machine.save_current();
  for (const auto& [id, thread] : machine.threads()) {
    registers.update(&thread->registers, sizeof thread->registers);
    registers.update(thread->vectors.data(), thread->vectors.size());
  }
  result.registers = registers.digest();
  return result;
}

uint64_t hash_registers(Machine& machine) {
  machine.save_current();
  const Thread& thread = machine.current();
  Xxh64 hash;
  hash.update(&thread.registers, sizeof thread.registers);
  hash.update(thread.vectors.data(), thread.vectors.size());
  return hash.digest();
}

} // namespace rdb::guest
