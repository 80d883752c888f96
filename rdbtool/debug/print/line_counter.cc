// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/line_counter.h"

#include "rdbtool/debug/regions/program_file.h"

#include <algorithm>

namespace rdb::debug {

void LineCounter::mapped(replay::Replayer& replayer, const trace::MapInput& map) {
  if (!map.has_file || map.offset != 0) return;
  std::string copy = replayer.trace().files().path_of(map.file);
  auto [known, fresh] = read_.try_emplace(copy);
  if (fresh) known->second = source_lines(copy, source_, first_, last_);
  if (known->second.empty()) return;
  uint64_t bias = ProgramFile(copy).bias(map.address.value);
  for (const auto& [number, code] : known->second) {
    CountedLine& line = lines_[number];
    line.available.insert(code.available.begin(), code.available.end());
    line.unavailable.insert(code.unavailable.begin(), code.unavailable.end());
    for (uint64_t begin : code.begins) {
      auto [from, to] = at_.equal_range(begin + bias);
      if (std::any_of(from, to, [&](const auto& entry) { return entry.second == &line; })) continue;
      if (from == to) replayer.translator().add_hook(GuestAddr(begin + bias));
      at_.emplace(begin + bias, &line);
    }
  }
}

void LineCounter::hooked(replay::Replayer&, GuestAddr pc) {
  auto [from, to] = at_.equal_range(pc.value);
  for (; from != to; ++from)
    ++from->second->reached;
}

} // namespace rdb::debug
