// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/attached_bundle.h"

#include "rdbtool/base/path.h"

#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace rdb::debug {
namespace {

// "libz.so" of "/usr/lib/libz.so.1.3".
std::string library_name(std::string_view path) {
  std::string name(base_name(path));
  size_t end = name.find(".so");
  return end == std::string::npos ? name : name.substr(0, end + 3);
}

} // namespace

void AttachedBundle::attach(const ProgramFile& file, const trace::ContentId& content) {
  content_ = content;
  code_ = file.code();
  thread_locals_.attach(descriptors(), file.thread_block_rule());
  for (size_t i = 0; i < descriptors().symbols.size(); ++i)
    if (descriptors().symbols[i].owner == descriptors::Owner::library) library_symbols_.push_back(i);
}

void AttachedBundle::select(const RegionSelection& selection, std::deque<RegionCount>& counts) {
  for (size_t i = 0; i < descriptors().regions.size(); ++i) {
    const descriptors::Region& region = descriptors().regions[i];
    std::string source = source_of(descriptors(), region);
    if (!selection.selects(region, source)) continue;
    counts.push_back({.place = fmt::format("{}:{}", source, region.begin_line)});
    regions_[region.id] = {&counts.back(), i};
  }
}

bool AttachedBundle::is_over_code(const trace::MapInput& map) const {
  uint64_t begin = map.address.value, end = begin + map.length;
  return begin < code_.end + bundle_->bias() && end > code_.begin + bundle_->bias();
}

void AttachedBundle::move(uint64_t bias) {
  bundle_->move(bias);
  thread_locals_.forget();
}

void AttachedBundle::bind_library(const ProgramFile& file, const trace::MapInput& map) {
  std::erase_if(library_symbols_, [&](size_t i) {
    const descriptors::Symbol& symbol = descriptors().symbols[i];
    if (library_name(symbol.where) != library_name(map.path)) return false;
    std::optional<uint64_t> address = file.exported(symbol.name);
    if (!address) return false;
    bundle_->slot(i) = reinterpret_cast<void*>(*address + file.bias(map.address.value));
    return true;
  });
}

void AttachedBundle::use_thread(engine::GuestMemory& memory, uint64_t thread_pointer) {
  if (!thread_locals_.any() || !thread_locals_.use_thread(memory, bundle_->bias(), thread_pointer)) return;
  const uint64_t block = thread_locals_.block();
  for (size_t i : thread_locals_.symbols())
    bundle_->slot(i) =
        block == 0 ? nullptr : reinterpret_cast<void*>(block + descriptors().symbols[i].address.value);
}

} // namespace rdb::debug
