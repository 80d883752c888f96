// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/thread_state.h"

#include "rdbtool/replay/replayer.h"

#include <algorithm>

namespace rdb::replay {

ThreadState read_thread(Replayer& replayer, ThreadId id) {
  const guest::Thread* thread = replayer.find_thread(id);
  bool is_loaded = thread == nullptr || thread == replayer.loaded();
  const engine::Registers& registers = is_loaded ? replayer.registers() : thread->registers;
  ThreadState state;
  std::copy(std::begin(registers.gpr), std::end(registers.gpr), state.gpr.begin());
  state.rip = registers.rip;
  state.rflags = registers.flags();
  state.fs_base = registers.fs_base;
  state.gs_base = registers.gs_base;
  state.in_call = thread != nullptr && thread->at_call;
  if (is_loaded) {
    state.vectors.resize(replayer.engine().vector_size());
    replayer.engine().read_vectors(state.vectors);
  } else {
    state.vectors = thread->vectors;
  }
  return state;
}

void write_thread(Replayer& replayer, ThreadId id, const ThreadState& state) {
  if (guest::Thread* thread = replayer.find_thread(id)) replayer.switch_to(*thread);
  engine::Registers& registers = replayer.registers();
  std::copy(state.gpr.begin(), state.gpr.end(), std::begin(registers.gpr));
  registers.rip = state.rip;
  registers.set_flags(state.rflags);
  registers.fs_base = state.fs_base;
  registers.gs_base = state.gs_base;
  std::vector<std::byte> image = state.vectors;
  image.resize(replayer.engine().vector_size());
  replayer.engine().write_vectors(image);
}

} // namespace rdb::replay
