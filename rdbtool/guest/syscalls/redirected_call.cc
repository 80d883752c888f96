// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Redirection of a system call's outputs. Two ways serve everything: where the result says how much was
// written, scratch memory is handed out as it is; everywhere else the guest's bytes are copied in and
// compared afterwards. Buffers that the guest could not write wholly are laid before an inaccessible page.
#include "rdbtool/guest/syscalls/redirected_call.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>

namespace rdb {
namespace {

constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kUserEnd = 0x7ffffffff000;
// The kernel transfers no more than this in one call, whatever it is asked for.
constexpr size_t kMostInOneCall = 0x7ffff000;
// No kernel structure that is read and written is larger; what exceeds it faults.
constexpr size_t kLargestUpdate = 16 << 20;
constexpr size_t kLargestSocketName = 128;
// The fixed parts of structures that say their own size.
constexpr size_t kSmallestSized = 48;
constexpr size_t kLargestSized = 8192;
constexpr size_t kFiemapExtent = 56;
constexpr size_t kDedupeEntry = 32;

constexpr bool is_error(int64_t result) {
  return result < 0 && result >= -4095;
}

constexpr size_t product(uint64_t count, uint64_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

} // namespace

template <class T, size_t N>
T& RedirectedCall::List<T, N>::append(ScratchArena& arena) {
  if (count == room) [[unlikely]] {
    T* larger = arena.allocate_array<T>(2 * room);
    std::copy_n(items, count, larger);
    items = larger;
    room *= 2;
  }
  return items[count++];
}

template <class T>
T RedirectedCall::fetch(uint64_t pointer) const {
  T value{};
  if (memory_->read(GuestAddr(pointer), &value, sizeof value) < sizeof value) return T{};
  return value;
}

const SyscallArgs& RedirectedCall::prepare(const CallShape& shape, const SyscallArgs& args,
                                           const GuestMemory& memory) {
  arena_.reset();
  outputs_.clear();
  writes_.clear();
  faulty_ = false;
  memory_ = &memory;
  // Pointers are looked at in the guest's own arguments: a length word may already have been redirected.
  guest_args_ = &args;
  args_ = args;
  for (unsigned i = 0; i < shape.info->arg_count; ++i) {
    if (is_output(shape.arg(i).kind) && args[i] != 0) args_[i] = redirect(shape, i);
  }
  if (faulty_) track_all_changes();
  return args_;
}

uint64_t RedirectedCall::element_count(const CallShape& shape, unsigned index) const {
  uint8_t by = shape.arg(index).count_arg;
  switch (shape.info->args[by].kind) {
  case ArgKind::Int:
    return static_cast<uint64_t>(std::max<int32_t>(0, static_cast<int32_t>(args_[by])));
  case ArgKind::Uint:
    return static_cast<uint32_t>(args_[by]);
  default:
    return args_[by];
  }
}

uint64_t RedirectedCall::redirect(const CallShape& shape, unsigned index) {
  const ArgSpec& spec = shape.arg(index);
  const SyscallArgs& args = *guest_args_;
  uint64_t pointer = args[index];
  switch (spec.kind) {
  case ArgKind::Out:
    return redirect_out(pointer, spec.size, {.rule = Rule::Success});
  case ArgKind::OutIfPositive:
    return redirect_out(pointer, spec.size, {.rule = Rule::Positive});
  case ArgKind::OutResult:
  case ArgKind::OutRecords:
  case ArgKind::OutText: {
    size_t room = std::min(product(element_count(shape, index), spec.size), kMostInOneCall);
    return redirect_out(pointer, room,
                        {.rule = Rule::Stream, .holes = spec.kind == ArgKind::OutRecords, .unit = spec.size});
  }
  case ArgKind::IovecOut:
    return redirect_iovec(pointer, element_count(shape, index), {});
  case ArgKind::Update:
    return redirect_update(pointer, spec.size);
  case ArgKind::UpdateExact:
    return redirect_exact(pointer, spec.size);
  case ArgKind::UpdateArray:
    return redirect_update(pointer, product(element_count(shape, index), spec.size));
  case ArgKind::UpdateBits: {
    uint64_t bits = element_count(shape, index);
    return redirect_update(pointer, (bits / 64 + (bits % 64 != 0)) * 8);
  }
  case ArgKind::UpdatePages: {
    uint64_t bytes = element_count(shape, index);
    return redirect_update(pointer, bytes / kPageSize + (bytes % kPageSize != 0));
  }
  case ArgKind::UpdateMessage: {
    uint64_t text = element_count(shape, index);
    return redirect_update(pointer, spec.size + std::min(text, kMostInOneCall));
  }
  case ArgKind::UpdateSized: {
    size_t size = std::max(size_t{fetch<uint32_t>(pointer)} + spec.size, kSmallestSized);
    return redirect_update(pointer, std::min(size, kLargestSized));
  }
  case ArgKind::UpdateByLength:
    return redirect_by_length(pointer, args[spec.count_arg], spec.size, kLargestUpdate);
  case ArgKind::Sockaddr:
    return redirect_by_length(pointer, args[spec.count_arg], 1, kLargestSocketName);
  case ArgKind::Msghdr:
    return redirect_msghdr(pointer);
  case ArgKind::Mmsghdr:
    return redirect_mmsghdr(pointer, element_count(shape, index));
  case ArgKind::Fiemap:
    return redirect_update(pointer, spec.size + product(fetch<uint32_t>(pointer + 24), kFiemapExtent));
  case ArgKind::DedupeRange:
    return redirect_update(pointer, spec.size + product(fetch<uint16_t>(pointer + 16), kDedupeEntry));
  case ArgKind::XattrArgs:
    return redirect_xattr_args(pointer, args[spec.count_arg]);
  case ArgKind::Ifconf:
    return redirect_ifconf(pointer);
  default:
    bug("system call {} has an argument that must be resolved by its variant", shape.info->name);
  }
}

uint64_t RedirectedCall::faulting(uint64_t pointer) {
  faulty_ = true;
  if (pointer == 0 || pointer >= kUserEnd) return pointer;
  return reinterpret_cast<uint64_t>(arena_.fault_address()) + pointer % kPageSize;
}

uint64_t RedirectedCall::redirect_out(uint64_t pointer, size_t size, const Output& how) {
  if (size == 0) return pointer;
  if (pointer == 0 || pointer >= kUserEnd) return faulting(pointer);
  size_t writable = memory_->writable_prefix(GuestAddr(pointer), size);
  if (writable == 0) return faulting(pointer);
  std::byte* scratch;
  if (writable == size) [[likely]] {
    scratch = arena_.allocate(size, pointer);
  } else {
    faulty_ = true;
    scratch = arena_.allocate_before_fault(writable);
  }
  Output& output = outputs_.append(arena_);
  output = how;
  output.to = GuestAddr(pointer);
  output.scratch = scratch;
  output.size = writable;
  if (output.holes) memory_->read(output.to, scratch, writable);
  return reinterpret_cast<uint64_t>(scratch);
}

uint64_t RedirectedCall::redirect_update(uint64_t pointer, size_t size) {
  if (size == 0 || pointer == 0) return pointer;
  if (pointer >= kUserEnd) return faulting(pointer);
  size_t writable = memory_->writable_prefix(GuestAddr(pointer), std::min(size, kLargestUpdate));
  if (writable == 0) {
    // Memory that can be read only: the kernel reads it, and fails to write it as it would natively (some
    // calls do not mind: select and its timeout).
    if (memory_->readable_prefix(GuestAddr(pointer), 1) != 0) return pointer;
    return faulting(pointer);
  }
  std::byte* scratch;
  if (writable == size) [[likely]] {
    scratch = arena_.allocate(size, pointer);
  } else {
    faulty_ = true;
    scratch = arena_.allocate_before_fault(writable);
  }
  memory_->read(GuestAddr(pointer), scratch, writable);
  track_changes(pointer, scratch, writable);
  return reinterpret_cast<uint64_t>(scratch);
}

uint64_t RedirectedCall::redirect_exact(uint64_t pointer, size_t size) {
  if (pointer >= kUserEnd || memory_->writable_prefix(GuestAddr(pointer), size) < size)
    return redirect_update(pointer, size);
  std::byte* scratch = arena_.allocate_before_fault(size);
  memory_->read(GuestAddr(pointer), scratch, size);
  track_changes(pointer, scratch, size);
  return reinterpret_cast<uint64_t>(scratch);
}

uint64_t RedirectedCall::redirect_by_length(uint64_t pointer, uint64_t length_pointer, uint32_t unit,
                                            size_t most) {
  // A length that cannot be read or is negative makes the call fail before it writes anything.
  int32_t length = fetch<int32_t>(length_pointer);
  if (length <= 0) return pointer;
  return redirect_update(pointer, std::min(product(static_cast<uint32_t>(length), unit), most));
}

std::byte* RedirectedCall::copy_in(uint64_t pointer, size_t size) {
  if (pointer >= kUserEnd || memory_->writable_prefix(GuestAddr(pointer), size) < size) return nullptr;
  std::byte* scratch = arena_.allocate(size, 0);
  return memory_->read(GuestAddr(pointer), scratch, size) == size ? scratch : nullptr;
}

void RedirectedCall::track_changes(uint64_t pointer, std::byte* scratch, size_t size) {
  std::byte* before = arena_.allocate(size, reinterpret_cast<uint64_t>(scratch));
  std::memcpy(before, scratch, size);
  outputs_.append(arena_) = {
      .to = GuestAddr(pointer), .scratch = scratch, .before = before, .size = size, .rule = Rule::Changed};
}

// A call that may fail halfway may have written anything before: what the result says is not enough.
void RedirectedCall::track_all_changes() {
  for (size_t i = 0; i < outputs_.count; ++i) {
    Output& output = outputs_.items[i];
    if (output.rule == Rule::Changed) continue;
    memory_->read(output.to, output.scratch, output.size);
    output.before = arena_.allocate(output.size, reinterpret_cast<uint64_t>(output.scratch));
    std::memcpy(output.before, output.scratch, output.size);
    output.rule = Rule::Changed;
  }
}

std::span<const MemoryWrite> RedirectedCall::finish(int64_t result) {
  size_t remaining = 0;
  for (size_t i = 0; i < outputs_.count; ++i) {
    const Output& output = outputs_.items[i];
    switch (output.rule) {
    case Rule::Success:
      if (!is_error(result)) add_write(output.to, output.scratch, output.size);
      break;
    case Rule::Positive:
      if (result > 0) add_write(output.to, output.scratch, output.size);
      break;
    case Rule::Stream: {
      if (output.stream_start) {
        uint64_t length = static_cast<uint64_t>(std::max<int64_t>(result, 0));
        if (output.length != nullptr) {
          uint32_t message_length;
          std::memcpy(&message_length, output.length, sizeof message_length);
          length = output.message < length ? message_length : 0;
        }
        remaining = product(length, output.unit);
      }
      // The result can exceed the room: datagrams with MSG_TRUNC, lists that are longer than asked for.
      size_t share = std::min(remaining, output.size);
      remaining -= share;
      add_write(output.to, output.scratch, share);
      break;
    }
    case Rule::Changed:
      add_changes(output);
      break;
    }
  }
  return {writes_.items, writes_.count};
}

void RedirectedCall::add_write(GuestAddr to, const std::byte* bytes, size_t size) {
  if (size == 0) return;
  if (writes_.count != 0) {
    MemoryWrite& last = writes_.items[writes_.count - 1];
    if (last.to + last.size == to && last.bytes + last.size == bytes) {
      last.size += size;
      return;
    }
  }
  writes_.append(arena_) = {to, bytes, size};
}

// Within a word everything between the first and the last changed byte counts as written; across words only
// what changed, so that fields the kernel left alone keep what another thread may have stored meanwhile.
void RedirectedCall::add_changes(const Output& output) {
  for (size_t at = 0; at < output.size; at += 8) {
    size_t size = std::min<size_t>(8, output.size - at);
    uint64_t now = 0, before = 0;
    std::memcpy(&now, output.scratch + at, size);
    std::memcpy(&before, output.before + at, size);
    uint64_t changed = now ^ before;
    if (changed == 0) continue;
    size_t first = static_cast<size_t>(__builtin_ctzll(changed)) / 8;
    size_t last = 7 - static_cast<size_t>(__builtin_clzll(changed)) / 8;
    add_write(output.to + (at + first), output.scratch + at + first, last - first + 1);
  }
}

} // namespace rdb
