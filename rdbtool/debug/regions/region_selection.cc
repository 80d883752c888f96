// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/region_selection.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace rdb::debug {
namespace {

// What --only says: a file, a line, or both.
struct WantedRegion {
  std::string file;  // empty: any
  unsigned line = 0; // 0: any
};

WantedRegion parse(const std::string& text) {
  size_t colon = text.rfind(':');
  size_t digits = colon == std::string::npos ? 0 : colon + 1;
  const char* end = text.data() + text.size();
  unsigned line = 0;
  auto [stop, error] = std::from_chars(text.data() + digits, end, line);
  if (error != std::errc() || stop != end) return {.file = std::string(base_name(text))};
  std::string file = text.substr(0, colon == std::string::npos ? 0 : colon);
  return {.file = std::string(base_name(file)), .line = line};
}

bool selected_by(const std::string& only, const descriptors::Region& region, const std::string& file) {
  WantedRegion wanted = parse(only);
  if (!wanted.file.empty() && base_name(file) != wanted.file) return false;
  return wanted.line == 0 || (wanted.line >= region.begin_line && wanted.line <= region.end_line);
}

} // namespace

std::string source_of(const descriptors::Descriptors& descriptors, const descriptors::Region& region) {
  for (const descriptors::Source& source : descriptors.sources)
    if (source.id == region.source) return source.path;
  return "?";
}

void RegionSelection::check(std::span<const descriptors::Descriptors* const> bundles) const {
  if (options_.from > options_.to)
    user_error("--from {} --until {}: no region runs between them", options_.from, options_.to);
  for (const std::string& only : options_.only) {
    bool found = false;
    std::string all;
    for (const descriptors::Descriptors* bundle : bundles)
      for (const descriptors::Region& region : bundle->regions) {
        std::string source = source_of(*bundle, region);
        found |= selected_by(only, region, source);
        all += fmt::format("{} {}:{}", all.empty() ? "" : ",", source, region.begin_line);
      }
    if (!found)
      user_error("--only {}: there is no such region; there are:{}", only, all.empty() ? " none" : all);
  }
}

bool RegionSelection::selects(const descriptors::Region& region, const std::string& file) const {
  return options_.only.empty() ||
         std::any_of(options_.only.begin(), options_.only.end(),
                     [&](const std::string& text) { return selected_by(text, region, file); });
}

} // namespace rdb::debug
