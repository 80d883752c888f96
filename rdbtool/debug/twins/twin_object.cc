// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/twin_object.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/twin_loader.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {

TwinObject::TwinObject(std::string name, std::string bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)) {
  try {
    elf_.emplace(bytes_);
    if (!elf_->relocatable()) throw elf::Error("not an object file");
    const elf::Section* facts = elf_->find(kTwinFactsSection);
    if (facts == nullptr || facts->header.sh_type != SHT_PROGBITS ||
        (facts->header.sh_flags & SHF_COMPRESSED) != 0)
      throw elf::Error("not a twin object: it has no section " + std::string(kTwinFactsSection));
    facts_ = read_twin_facts(facts->bytes, name_);
  } catch (const elf::Error& error) {
    user_error("{}: {}", name_, error.what());
  }
}

TwinObject::~TwinObject() = default;

void TwinObject::load(const TwinSurroundings& surroundings) {
  try {
    TwinLoader(*this, surroundings).run();
  } catch (const elf::Error& error) {
    user_error("{}: {}", name_, error.what());
  } catch (const Limit& error) {
    throw Limit(name_ + ": " + error.what());
  }
}

std::optional<uint32_t> TwinObject::function_around(uint64_t address) const {
  auto next = std::ranges::upper_bound(by_code_, std::pair(address, UINT32_MAX));
  if (next == by_code_.begin()) return std::nullopt;
  auto [begin, index] = *std::prev(next);
  if (address - begin >= std::max<uint64_t>(functions_[index].size, 1)) return std::nullopt;
  return index;
}

void TwinObject::set_callee(uint32_t function, Callee callee) {
  if (slots_[function] == 0) return; // nothing calls it
  const TwinFunction& known = functions_[function];
  uint64_t target = callee == Callee::twin ? known.code : known.entry;
  std::memcpy(reinterpret_cast<void*>(slots_[function]), &target, sizeof target);
}

} // namespace rdb::debug
