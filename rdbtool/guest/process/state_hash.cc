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

StateHash hash_state(Machine& machine) {
  StateHash result;
  Xxh64 memory;
  const PageMap page_map;
  for (const auto& [begin, mapping] : machine.space().mappings()) {
    if (!(mapping.protection & PROT_WRITE) || !(mapping.protection & PROT_READ)) continue;
    PossiblePages possible(mapping, page_map);
    for (uint64_t page = possible.next(mapping.begin); page < mapping.end;
         page = possible.next(page + kPage)) {
      // A page of a file beyond its end cannot be read.
      uint8_t copy[kPage];
      if (!is_own(mapping) && machine.space().read(GuestAddr(page), copy, kPage) != kPage) continue;
      const uint8_t* bytes = is_own(mapping) ? reinterpret_cast<const uint8_t*>(page) : copy;
      if (is_zero(bytes)) continue;
      memory.update(&page, sizeof page);
      memory.update(bytes, kPage);
      ++result.pages;
    }
  }
  result.memory = memory.digest();
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
