// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who called whom in a stopped replay: frames with function names and source lines, from the files that the
// trace holds.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdb::replay {

struct BacktraceFrame {
  GuestAddr pc;
  std::string function; // demangled; empty if there is no symbol
  std::string place;    // "file.c:12", or the name of the file that the code is in; empty if unknown
};

// Keeps what it has read of the mapped files, for those who ask often.
class Backtracer {
public:
  explicit Backtracer(Replayer& replayer);
  ~Backtracer();
  Backtracer(const Backtracer&) = delete;
  Backtracer& operator=(const Backtracer&) = delete;

  // Where lines of the file that the program was built from are in the file that the user edits.
  using LineMap = std::function<unsigned(const std::string& file, unsigned line)>;
  void set_line_map(LineMap map) { line_map_ = std::move(map); }

  std::vector<BacktraceFrame> frames(size_t most);
  // The function and line of an instruction.
  const BacktraceFrame& at(GuestAddr pc);

private:
  struct Files;
  Files& files();
  void map_line(BacktraceFrame& frame) const;

  Replayer& replayer_;
  std::unique_ptr<Files> files_;
  std::unordered_map<std::string, std::string> too_large_; // by the copy: why it is not read, or nothing
  std::unordered_map<uint64_t, BacktraceFrame> known_;
  LineMap line_map_;
};

// This process's own frames, the innermost first: where code with these registers is, and who called it.
// `read` gives a word of memory; false where there is none.
std::vector<BacktraceFrame> host_backtrace(const engine::Registers& registers,
                                           const std::function<bool(uint64_t, uint64_t*)>& read, size_t most);

// One line a frame, as debuggers show them.
std::string describe(const std::vector<BacktraceFrame>& frames);

} // namespace rdb::replay
