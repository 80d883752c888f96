// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A replay that leaves its recording: a copy of the process in which a function that the user calls runs on
// its own. Nothing is recorded of it, so its system calls are done here: those about memory and the machine
// itself in full; output is kept to be shown; anything else ends it.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace rdb::replay {

class Replayer;

class Diversion {
public:
  explicit Diversion(Replayer& replayer) : replayer_(replayer) {}

  struct End {
    enum class Kind : uint8_t {
      limit,   // that many instructions were executed
      address, // at a stop
      signal,  // an instruction raised `signal`
      call,    // a system call that cannot be made here: `text` describes it
    } kind = Kind::limit;
    int signal = 0;
    std::string text;
  };
  // Runs at most this many instructions.
  End run(uint64_t instructions);

  // What was printed since the last time.
  std::string take_output();

private:
  // The result of a system call; nothing if it cannot be made here.
  std::optional<int64_t> perform(const guest::SystemCall& call);
  int64_t print(uint64_t from, uint64_t size);
  int64_t print_vectors(uint64_t vectors, uint64_t count);

  Replayer& replayer_;
  std::string output_;
};

} // namespace rdb::replay
