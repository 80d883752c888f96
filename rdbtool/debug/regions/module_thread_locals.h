// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread-local variables of debug code. Each thread of the program has its own, though all of them live in
// one thread of the host: what the module's block of variables holds is exchanged when debug code comes to
// run in another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace rdb::debug {

class DebugSession;

class ModuleThreadLocals {
public:
  ModuleThreadLocals() = default;
  ~ModuleThreadLocals();
  ModuleThreadLocals(const ModuleThreadLocals&) = delete;
  ModuleThreadLocals& operator=(const ModuleThreadLocals&) = delete;

  // Finds the block of the module that has this address in it. Does nothing if it has none, or was called
  // before.
  void attach(DebugSession& session, const void* inside);
  // Before debug code runs in this thread.
  void use(uint64_t thread) {
    if (!block_.empty() && thread != thread_) exchange(thread);
  }
  // Destroys the objects of all threads.
  void end();
  // This object in the block of some module, of the thread that runs, is to be destroyed by this function.
  static void add_object(void (*destroy)(void*), void* object);

private:
  struct Object {
    void (*destroy)(void*);
    void* address;
  };
  struct SavedBlock {
    std::vector<std::byte> bytes;
    std::vector<Object> objects; // in the order in which they were made
  };
  void exchange(uint64_t thread);

  DebugSession* session_ = nullptr;
  std::span<std::byte> block_;
  std::vector<std::byte> initial_;
  uint64_t thread_ = 0;
  std::vector<Object> objects_;
  std::map<uint64_t, SavedBlock> others_;
};

} // namespace rdb::debug
