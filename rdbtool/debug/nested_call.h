// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls from debug code into the guest. The guest's code cannot be executed in place, so such a call faults;
// the fault handler sends it to a stub, which runs the function under the engine on a stack of its own, one
// instruction at a time, with the old bytes of everything it writes kept. When the region ends all of it is
// undone. A guest function that calls back into debug code leaves the engine for it.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <cstdint>
#include <vector>

namespace rdb::debug {

// The registers of a call as the stub saves them.
struct CallFrame {
  uint64_t integer[6];   // rdi rsi rdx rcx r8 r9
  uint64_t vector_count; // al
  uint64_t result[2];    // rax rdx
  alignas(16) uint8_t vector[8][16];
  const uint64_t* stack_arguments;
};

class NestedCalls {
public:
  explicit NestedCalls(replay::Replayer& replayer) : replayer_(replayer) {}

  // A fault in host code: true if it is a jump of debug code to the guest, which now goes to the stub.
  bool redirect(int signal, const siginfo_t* info, void* context);

  // Around a region: what the guest looked like, and making it look so again.
  void begin_region();
  void end_region();

private:
  friend void run_nested_call(CallFrame*, uint64_t);
  void run(CallFrame& frame, uint64_t function);
  void step(uint64_t stop);
  void keep(uint64_t address, uint64_t size);
  void call_out();
  int64_t system_call();

  struct OldBytes {
    uint64_t address;
    uint32_t size;
    uint32_t offset; // in bytes_
  };

  replay::Replayer& replayer_;
  bool used_ = false; // by the region that runs
  engine::Registers registers_;
  std::vector<std::byte> vectors_;
  uint64_t executed_ = 0;
  uint64_t stack_ = 0;     // of nested calls; 0: not mapped yet
  uint64_t stack_top_ = 0; // where the next nested call begins
  std::vector<OldBytes> log_;
  std::vector<std::byte> bytes_;
  std::vector<std::pair<uint64_t, uint64_t>> mapped_; // by nested calls, to be unmapped
};

} // namespace rdb::debug
