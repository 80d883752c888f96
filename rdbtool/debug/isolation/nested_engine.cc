// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/nested_engine.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/guest/memory/layout.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <algorithm>

namespace rdb::debug {
namespace {

engine::TranslatorOptions engine_options(Logged logged) {
  engine::TranslatorOptions options;
  const bool loads = logged == Logged::loads_too;
  options.cache_place = loads ? guest::kLoadsCachePlace : guest::kNestedCachePlace;
  options.cache_size = loads ? guest::kLoadsCacheSize : guest::kNestedCacheSize;
  options.table_place = loads ? guest::kLoadsTablePlace : guest::kNestedTablePlace;
  options.superblocks = false;
  options.log_stores = true;
  options.log_loads = loads;
  return options;
}

} // namespace

size_t NestedMemory::read(GuestAddr from, void* to, size_t size) {
  if (!own_code_.contains(from.value)) return space_.read(from, to, size);
  return read_own_memory(from.ptr<const void>(), to, std::min(size, own_code_.end - from.value));
}

size_t NestedMemory::write(GuestAddr to, const void* from, size_t size) {
  if (!own_code_.contains(to.value)) return space_.write(to, from, size);
  return write_own_memory(to.ptr<void>(), from, std::min(size, own_code_.end - to.value));
}

size_t NestedMemory::read_code(GuestAddr from, void* to, size_t size) {
  return own_code_.contains(from.value) ? read(from, to, size) : space_.read_code(from, to, size);
}

// Whoever changes it says so.
engine::GuestMemory::CodeWatch NestedMemory::watch_code_page(GuestAddr page) {
  return own_code_.contains(page.value) ? CodeWatch::noticed : space_.watch_code_page(page);
}

NestedEngine::NestedEngine(guest::AddressSpace& space, Logged logged)
    : space_(space), logged_(logged), memory_(space, own_code_), translator_(memory_, engine_options(logged)),
      log_(translator_, space, &own_code_), listener_(std::make_shared<engine::Translator*>(&translator_)) {
  space.on_code_change([listener = listener_](GuestAddr begin, uint64_t size) {
    if (*listener != nullptr) (*listener)->invalidate(begin, size);
  });
  guest::add_host_signals(translator_);
}

NestedEngine::~NestedEngine() {
  *listener_ = nullptr;
  guest::remove_host_signals(translator_);
}

void NestedEngine::set_own_code(const OwnCode& own_code) {
  RDB_CHECK(own_code.begin >= guest::kOwnCodeBegin && own_code.end <= guest::kOwnCodeEnd);
  translator_.invalidate(GuestAddr(own_code_.begin), own_code_.end - own_code_.begin);
  own_code_ = own_code;
  translator_.invalidate(GuestAddr(own_code_.begin), own_code_.end - own_code_.begin);
}

} // namespace rdb::debug
