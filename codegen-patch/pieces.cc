// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/pieces.h"

#include "codegen-patch/records.h"

#include <algorithm>

namespace rdb::codegen {

using descriptors::Class;
using descriptors::Part;

std::vector<Extent> gaps_in(const Extent& whole, std::vector<Extent> ranges) {
  std::ranges::sort(ranges);
  std::vector<Extent> gaps;
  uint64_t covered = whole.begin;
  for (const Extent& range : ranges) {
    if (range.begin > covered && covered < whole.end)
      gaps.push_back({covered, std::min(range.begin, whole.end)});
    covered = std::max(covered, range.end);
  }
  if (covered < whole.end) gaps.push_back({covered, whole.end});
  return gaps;
}

bool is_read(const extractor::Variable& variable, const Extent& bytes) {
  const extractor::Reads& reads = variable.own;
  if (reads.everywhere || reads.ranges.empty()) return true;
  return std::ranges::any_of(reads.ranges, [&](const auto& range) {
    auto [offset, size] = range;
    // One that begins ahead of the variable is not understood.
    return offset < 0 ||
           bytes.overlaps({static_cast<uint64_t>(offset), static_cast<uint64_t>(offset) + size});
  });
}

std::vector<Part> put_together(std::vector<Part> known, const extractor::Variable& variable) {
  if (known.empty()) known.push_back(unavailable(variable.size, "not computed or not kept here"));
  if (variable.size == 0) return {known[0]};
  std::ranges::sort(known, {}, &Part::offset);
  std::vector<Part> parts;
  std::string missing; // why
  uint64_t covered = 0;
  auto leave_out = [&](uint64_t end, const std::string& reason) {
    if (covered >= end) return;
    if (missing.empty() && is_read(variable, {covered, end})) missing = reason;
    if (parts.empty() || parts.back().cls != Class::unread) {
      Part unread{covered, 0};
      unread.cls = Class::unread;
      parts.push_back(unread);
    }
    parts.back().size += end - covered;
    covered = end;
  };
  for (const Part& part : known) {
    leave_out(std::min(part.offset, variable.size), "only a part of it is known here");
    if (part.offset < covered || part.offset + part.size > variable.size) {
      missing = "only a part of it is known here";
    } else if (part.cls == Class::unavailable) {
      leave_out(part.offset + part.size, part.reason);
    } else {
      parts.push_back(part);
      covered += part.size;
    }
  }
  leave_out(variable.size, "only a part of it is known here");
  bool is_known = std::ranges::any_of(parts, [](const Part& part) { return part.cls != Class::unread; });
  if (missing.empty() && !is_known) missing = "optimised out";
  if (!missing.empty()) return {unavailable(variable.size, missing)};
  return parts;
}

} // namespace rdb::codegen
