// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heart of recording: a system call whose every kernel output goes to scratch memory. prepare() yields
// the arguments to give to the kernel, the caller performs the raw call, finish() yields the exact list of
// writes to guest memory, which one apply routine carries out when recording and when replaying alike.
#pragma once

#include "rdbtool/guest/syscalls/guest_memory.h"
#include "rdbtool/guest/syscalls/scratch_arena.h"
#include "rdbtool/guest/syscalls/table.h"

namespace rdb {

// Bytes that the call wrote; they stay valid until the next prepare(). Writes are to be applied in order:
// buffers that the guest let overlap then end up as the kernel would have left them.
struct MemoryWrite {
  GuestAddr to;
  const std::byte* bytes = nullptr;
  size_t size = 0;

  std::span<const std::byte> span() const { return {bytes, size}; }
};

// One per thread that performs calls; reused for every call.
class RedirectedCall {
public:
  explicit RedirectedCall(ScratchArena& arena) : arena_(arena) {}

  // The arguments for the kernel. Inputs are the guest's own memory. A call of which no variant argument is
  // an output comes back unchanged and finish() is empty.
  const SyscallArgs& prepare(const CallShape& shape, const SyscallArgs& args, const GuestMemory& memory);

  // `result` as the kernel returned it: negative errno for an error.
  std::span<const MemoryWrite> finish(int64_t result);

private:
  // When a piece of scratch memory counts as written.
  enum class Rule : uint8_t {
    Success,  // all of it if result >= 0
    Positive, // all of it if result > 0
    Stream,   // its share of `unit` * (result or *count) bytes, in order
    Changed,  // the bytes that differ from what was copied in, whatever the result
  };
  struct Output {
    GuestAddr to;
    std::byte* scratch = nullptr;
    std::byte* before = nullptr; // Changed: what was copied in
    size_t size = 0;
    const uint32_t* count = nullptr; // Stream: null for the result of the call
    uint32_t unit = 1;
    Rule rule = Rule::Success;
    bool stream_start = false;
  };
  // A list in scratch memory: grows without the heap.
  template <class T>
  struct List {
    T* items = nullptr;
    size_t count = 0;
    size_t room = 0;
  };

  template <class T>
  void append(List<T>& list, const T& item);
  void add_write(GuestAddr to, const std::byte* bytes, size_t size);
  void add_changes(const Output& output);

  uint64_t faulting(uint64_t pointer) const;
  uint64_t redirect(const ArgSpec& spec, uint64_t pointer, const SyscallArgs& args);
  uint64_t redirect_out(uint64_t pointer, size_t size, Rule rule, uint32_t unit = 1,
                        const uint32_t* count = nullptr, bool stream_start = true);
  uint64_t redirect_update(uint64_t pointer, size_t size);
  uint64_t redirect_iovec(uint64_t pointer, uint64_t count, const uint32_t* message_length);
  uint64_t redirect_msghdr(uint64_t pointer);
  uint64_t redirect_mmsghdr(uint64_t pointer, uint64_t& count);
  uint64_t redirect_ifconf(uint64_t pointer);
  bool redirect_msghdr_fields(std::byte* header, const uint32_t* message_length);
  // The little-endian number of type T at a guest address; 0 if it cannot be read.
  template <class T>
  T fetch(uint64_t pointer) const;

  ScratchArena& arena_;
  const GuestMemory* memory_ = nullptr;
  SyscallArgs args_{};
  List<Output> outputs_;
  List<MemoryWrite> writes_;
};

} // namespace rdb
