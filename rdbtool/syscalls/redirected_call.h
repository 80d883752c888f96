// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heart of recording: a system call whose every kernel output goes to scratch memory. prepare() yields
// the arguments to give to the kernel, the caller performs the raw call, finish() yields the exact list of
// writes to guest memory, which one apply routine carries out when recording and when replaying alike.
#pragma once

#include "rdbtool/base/memory_write.h"
#include "rdbtool/syscalls/accessible_memory.h"
#include "rdbtool/syscalls/scratch_arena.h"
#include "rdbtool/syscalls/table.h"

namespace rdb {

// One per thread that performs calls; reused for every call.
class RedirectedCall {
public:
  explicit RedirectedCall(ScratchArena& arena) : arena_(arena) {}

  // The arguments for the kernel. Inputs are the guest's own memory. A call of which no variant argument is
  // an output comes back unchanged and finish() is empty.
  const SyscallArgs& prepare(const CallShape& shape, const SyscallArgs& args, const AccessibleMemory& memory);

  // What the call wrote; valid until the next prepare(). Writes are to be applied in order: buffers that the
  // guest let overlap then end up as the kernel would have left them. `result` as the kernel returned it:
  // negative errno for an error.
  std::span<const MemoryWrite> finish(int64_t result);

private:
  // When a piece of scratch memory counts as written.
  enum class WriteRule : uint8_t {
    success,  // all of it if the call succeeded
    positive, // all of it if result > 0
    stream,   // its share of `unit` * (result or *length) bytes, in order
    changed,  // nothing but the bytes that differ from what was copied in, whatever the result
  };
  struct Output {
    GuestAddr to;
    std::byte* scratch = nullptr;
    std::byte* before = nullptr; // what was copied in, if changes are written beside what the rule says
    size_t size = 0;
    WriteRule rule = WriteRule::success;
    bool stream_start = true;
    bool holes = false; // the kernel leaves some of what it reports untouched
    uint32_t unit = 1;
    uint32_t message = 0;              // Stream: which message of many, they count if message < result
    const std::byte* length = nullptr; // Stream: its length, 32 bits; null for the result of the call
  };
  // Grows into scratch memory: nearly every call fits in the inline part, none needs the heap.
  template <class T, size_t N>
  struct List {
    T inline_items[N];
    T* items = inline_items;
    size_t count = 0;
    size_t room = N;

    void clear() {
      items = inline_items;
      count = 0;
      room = N;
    }
    T& append(ScratchArena& arena);
  };
  // Which message of recvmmsg a buffer belongs to; the default is the call's own data.
  struct Stream {
    uint32_t message = 0;
    const std::byte* length = nullptr;
  };

  uint64_t redirect(const CallShape& shape, unsigned index);
  uint64_t element_count(const CallShape& shape, unsigned index) const;
  uint64_t redirect_out(uint64_t pointer, size_t size, const Output& how);
  uint64_t redirect_update(uint64_t pointer, size_t size);
  uint64_t redirect_exact(uint64_t pointer, size_t size);
  uint64_t redirect_by_length(uint64_t pointer, uint64_t length_pointer, uint32_t unit, size_t most);
  uint64_t redirect_iovec(uint64_t pointer, uint64_t count, Stream stream);
  uint64_t redirect_msghdr(uint64_t pointer);
  uint64_t redirect_mmsghdr(uint64_t pointer, uint64_t count);
  void redirect_message_fields(std::byte* header, Stream stream);
  uint64_t redirect_xattr_args(uint64_t pointer, uint64_t size);
  uint64_t redirect_ifconf(uint64_t pointer);

  // An address at which the kernel faults as it would at `pointer`.
  uint64_t faulting(uint64_t pointer);
  // Scratch memory with a copy of the guest's bytes, which may be changed until end_update().
  struct Update {
    uint64_t pointer = 0;
    std::byte* scratch = nullptr;
    size_t size = 0;
    bool whole = true; // the guest could read and write it all
  };
  Update begin_update(uint64_t pointer, size_t size);
  uint64_t end_update(const Update& update);
  void restrict_like_guest(const Update& update);
  // The same bytes in scratch memory that an output before this one has; null if there is none.
  std::byte* find_earlier(uint64_t pointer, size_t size) const;
  // From now on every change of the scratch bytes is a write to the guest's.
  void track_changes(uint64_t pointer, std::byte* scratch, size_t size);
  void track_all_changes();
  void add_write(GuestAddr to, const std::byte* bytes, size_t size);
  void add_changes(const Output& output, size_t from);
  // The number at a guest address; 0 if it cannot be read.
  template <class T>
  T fetch(uint64_t pointer) const;

  ScratchArena& arena_;
  const AccessibleMemory* memory_ = nullptr;
  const SyscallArgs* guest_args_ = nullptr; // during prepare()
  SyscallArgs args_{};
  bool faulty_ = false; // some output is not wholly writable: the call may fail halfway
  List<Output, 8> outputs_;
  List<MemoryWrite, 16> writes_;
};

} // namespace rdb
