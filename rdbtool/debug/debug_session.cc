// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/debug_session.h"

#include <new>
#include <sys/mman.h>

namespace rdb::debug {

DebugSession::DebugSession() {
  current_ = this;
}

DebugSession::~DebugSession() {
  if (current_ == this) current_ = nullptr;
  if (!throws.empty()) munmap(throws.data(), throws.size_bytes());
}

void* DebugSession::operator new(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void DebugSession::operator delete(void* memory, size_t size) {
  munmap(memory, size);
}

std::span<char> DebugSession::stdout_buffer() {
  static char buffer[1 << 14];
  return buffer;
}

} // namespace rdb::debug
