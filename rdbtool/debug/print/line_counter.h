// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often each line of a source was reached in a recording, whatever file of the program its code is in.
#pragma once

#include "rdbtool/debug/print/source_lines.h"
#include "rdbtool/replay/replayer.h"

#include <map>
#include <string>
#include <unordered_map>

namespace rdb::debug {

class LineCounter final : public replay::Observer {
public:
  LineCounter(std::string source, unsigned first, unsigned last)
      : source_(std::move(source)), first_(first), last_(last) {}

  struct CountedLine {
    uint64_t reached = 0;
    std::set<std::string> available, unavailable;
  };
  const std::map<unsigned, CountedLine>& lines() const { return lines_; }

private:
  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void hooked(replay::Replayer& replayer, GuestAddr pc) override;

  std::string source_;
  unsigned first_, last_;
  std::map<unsigned, CountedLine> lines_;
  std::map<std::string, std::map<unsigned, LineCode>> read_; // by the file's copy
  std::unordered_multimap<uint64_t, CountedLine*> at_;
};

} // namespace rdb::debug
