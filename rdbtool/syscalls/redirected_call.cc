// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Redirection of a system call's outputs. Two ways serve everything: where the result says how much was
// written, scratch memory is handed out as it is; everywhere else the guest's bytes are copied in and
// compared afterwards. Buffers that the guest could not write wholly are laid before an inaccessible page,
// or, if the kernel reads them too, into pages that let it do what the guest's would.
#include "rdbtool/syscalls/redirected_call.h"

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

constexpr uint64_t page_end(uint64_t address) {
  return (address & ~(kPageSize - 1)) + kPageSize;
}

uint64_t quotient_up(uint64_t number, uint64_t by) {
  return number / by + (number % by != 0);
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
                                           const AccessibleMemory& memory) {
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
  case ArgKind::integer:
    return static_cast<uint64_t>(std::max<int32_t>(0, static_cast<int32_t>(args_[by])));
  case ArgKind::uint:
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
  case ArgKind::out:
    return redirect_out(pointer, spec.size, {.rule = WriteRule::success});
  case ArgKind::out_if_positive:
    return redirect_out(pointer, spec.size, {.rule = WriteRule::positive});
  case ArgKind::out_result:
  case ArgKind::out_records:
  case ArgKind::out_text: {
    size_t room = std::min(product(element_count(shape, index), spec.size), kMostInOneCall);
    return redirect_out(
        pointer, room,
        {.rule = WriteRule::stream, .holes = spec.kind == ArgKind::out_records, .unit = spec.size});
  }
  case ArgKind::iovec_out:
    return redirect_iovec(pointer, element_count(shape, index), {});
  case ArgKind::update:
    return redirect_update(pointer, spec.size);
  case ArgKind::update_exact:
    return redirect_exact(pointer, spec.size);
  case ArgKind::update_array:
    return redirect_update(pointer, product(element_count(shape, index), spec.size));
  case ArgKind::update_bits:
    return redirect_update(pointer, quotient_up(element_count(shape, index), 64) * 8);
  case ArgKind::update_pages:
    return redirect_update(pointer, quotient_up(element_count(shape, index), kPageSize));
  case ArgKind::update_message: {
    uint64_t text = element_count(shape, index);
    return redirect_update(pointer, spec.size + std::min(text, kMostInOneCall));
  }
  case ArgKind::update_sized: {
    size_t size = std::max(size_t{fetch<uint32_t>(pointer)} + spec.size, kSmallestSized);
    return redirect_update(pointer, std::min(size, kLargestSized));
  }
  case ArgKind::update_by_length:
    return redirect_by_length(pointer, args[spec.count_arg], spec.size, kLargestUpdate);
  case ArgKind::sockaddr:
    return redirect_by_length(pointer, args[spec.count_arg], 1, kLargestSocketName);
  case ArgKind::msghdr:
    return redirect_msghdr(pointer);
  case ArgKind::mmsghdr:
    return redirect_mmsghdr(pointer, element_count(shape, index));
  case ArgKind::fiemap:
    return redirect_update(pointer, spec.size + product(fetch<uint32_t>(pointer + 24), kFiemapExtent));
  case ArgKind::dedupe_range:
    return redirect_update(pointer, spec.size + product(fetch<uint16_t>(pointer + 16), kDedupeEntry));
  case ArgKind::xattr_args:
    return redirect_xattr_args(pointer, args[spec.count_arg]);
  case ArgKind::ifconf:
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
  if (std::byte* earlier = find_earlier(pointer, size)) return reinterpret_cast<uint64_t>(earlier);
  return end_update(begin_update(pointer, size));
}

std::byte* RedirectedCall::find_earlier(uint64_t pointer, size_t size) const {
  for (size_t i = 0; i < outputs_.count; ++i) {
    const Output& output = outputs_.items[i];
    uint64_t offset = pointer - output.to.value;
    if (output.rule == WriteRule::changed && offset < output.size && size <= output.size - offset)
      return output.scratch + offset;
  }
  return nullptr;
}

RedirectedCall::Update RedirectedCall::begin_update(uint64_t pointer, size_t size) {
  if (memory_->writable_prefix(GuestAddr(pointer), std::min(size, kLargestUpdate)) == size) [[likely]] {
    std::byte* scratch = arena_.allocate(size, pointer);
    memory_->read(GuestAddr(pointer), scratch, size);
    return {pointer, scratch, size, true};
  }
  // Structures that the kernel reads, and fails to write, fail as natively; and some calls do not mind
  // (select and its timeout).
  faulty_ = true;
  if (size > kLargestUpdate) size = page_end(pointer + kLargestUpdate) - pointer;
  std::byte* scratch = arena_.allocate_pages(size, pointer);
  for (size_t at = 0, next; at < size; at = next) {
    next = std::min<size_t>(page_end(pointer + at) - pointer, size);
    memory_->read(GuestAddr(pointer + at), scratch + at, next - at);
  }
  return {pointer, scratch, size, false};
}

uint64_t RedirectedCall::end_update(const Update& update) {
  if (update.whole) [[likely]]
    track_changes(update.pointer, update.scratch, update.size);
  else
    restrict_like_guest(update);
  return reinterpret_cast<uint64_t>(update.scratch);
}

void RedirectedCall::restrict_like_guest(const Update& update) {
  using PageAccess = ScratchArena::PageAccess;
  for (size_t at = 0, next; at < update.size; at = next) {
    GuestAddr from(update.pointer + at);
    size_t left = update.size - at;
    size_t writable = memory_->writable_prefix(from, left);
    if (writable != 0) {
      next = at + writable;
      track_changes(from.value, update.scratch + at, writable);
      continue;
    }
    next = std::min<size_t>(page_end(from.value) - update.pointer, update.size);
    bool readable = memory_->readable_prefix(from, next - at) == next - at;
    std::byte* page = update.scratch + at - from.value % kPageSize;
    ScratchArena::restrict(page, kPageSize, readable ? PageAccess::read : PageAccess::none);
  }
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
  size_t size = std::min(product(static_cast<uint32_t>(length), unit), most);
  // Where the length lies among what it counts, they are one piece of memory here, too.
  uint64_t begin = std::min(pointer, length_pointer);
  uint64_t end = std::max(pointer + size, length_pointer + sizeof length);
  if (pointer < kUserEnd && end - begin < size + sizeof length)
    return redirect_update(begin, end - begin) + (pointer - begin);
  return redirect_update(pointer, size);
}

void RedirectedCall::track_changes(uint64_t pointer, std::byte* scratch, size_t size) {
  std::byte* before = arena_.allocate(size, reinterpret_cast<uint64_t>(scratch));
  std::memcpy(before, scratch, size);
  outputs_.append(arena_) = {.to = GuestAddr(pointer),
                             .scratch = scratch,
                             .before = before,
                             .size = size,
                             .rule = WriteRule::changed};
}

// A call that may fail halfway may have written more than the result says.
void RedirectedCall::track_all_changes() {
  for (size_t i = 0; i < outputs_.count; ++i) {
    Output& output = outputs_.items[i];
    if (output.rule == WriteRule::changed) continue;
    memory_->read(output.to, output.scratch, output.size);
    output.before = arena_.allocate(output.size, reinterpret_cast<uint64_t>(output.scratch));
    std::memcpy(output.before, output.scratch, output.size);
  }
}

std::span<const MemoryWrite> RedirectedCall::finish(int64_t result) {
  size_t remaining = 0;
  for (size_t i = 0; i < outputs_.count; ++i) {
    const Output& output = outputs_.items[i];
    size_t sure = 0;
    switch (output.rule) {
    case WriteRule::success:
      if (!is_error(result)) sure = output.size;
      break;
    case WriteRule::positive:
      if (result > 0) sure = output.size;
      break;
    case WriteRule::stream: {
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
      sure = std::min(remaining, output.size);
      remaining -= sure;
      break;
    }
    case WriteRule::changed:
      break;
    }
    // What is written counts even if it is what was there: a private page of a file is the program's own
    // then.
    add_write(output.to, output.scratch, sure);
    if (output.before != nullptr) add_changes(output, sure);
  }
  return {writes_.items, writes_.count};
}

void RedirectedCall::add_write(GuestAddr to, const std::byte* bytes, size_t size) {
  if (size == 0) return;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes);
  if (writes_.count != 0) {
    MemoryWrite& last = writes_.items[writes_.count - 1];
    if (last.address + last.size == to && last.data + last.size == data) {
      last.size += size;
      return;
    }
  }
  writes_.append(arena_) = {to, data, size};
}

// Within a word everything between the first and the last changed byte counts as written; across words only
// what changed, so that fields the kernel left alone keep what another thread may have stored meanwhile.
void RedirectedCall::add_changes(const Output& output, size_t from) {
  for (size_t at = from; at < output.size; at += 8) {
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
