// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/syscalls/call_reads.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rdb {
namespace {

class CallReads {
public:
  CallReads(const SyscallArgs& args, int64_t result, const AccessibleMemory& memory, const ReadVisitor& visit)
      : args_(args), result_(result), memory_(memory), visit_(visit) {}

  void argument(const ArgSpec& spec, uint64_t pointer) {
    if (pointer == 0) return;
    uint64_t elements = args_[spec.count_arg];
    switch (spec.kind) {
    case ArgKind::string:
      text(pointer);
      return;
    case ArgKind::string_list:
      text_list(pointer);
      return;
    case ArgKind::in:
    case ArgKind::update:
    case ArgKind::update_exact:
      bytes(pointer, spec.size);
      return;
    case ArgKind::in_bytes:
    case ArgKind::update_array:
      bytes(pointer, std::min<uint64_t>(elements, UINT32_MAX) * spec.size);
      return;
    case ArgKind::update_bits:
      bytes(pointer, (std::min<uint64_t>(elements, UINT32_MAX) + 63) / 64 * 8);
      return;
    case ArgKind::in_text:
      bytes(pointer, taken(elements));
      return;
    case ArgKind::iovec_in:
      vectors(pointer, elements, taken(UINT64_MAX));
      return;
    case ArgKind::iovec_out:
      vectors(pointer, elements, 0);
      return;
    case ArgKind::msghdr_in:
      message(pointer, taken(UINT64_MAX));
      return;
    case ArgKind::msghdr:
      message(pointer, 0);
      return;
    case ArgKind::update_by_length:
    case ArgKind::sockaddr:
      bytes(elements, sizeof(uint32_t)); // how much room there is
      return;
    default:
      return;
    }
  }

private:
  // Of so many bytes of data. A call that does not count them took them all.
  uint64_t taken(uint64_t size) const {
    if (result_ < 0) return 0;
    return result_ == 0 ? size : std::min<uint64_t>(size, static_cast<uint64_t>(result_));
  }

  void bytes(uint64_t pointer, uint64_t size) {
    if (uint64_t readable = memory_.readable_prefix(GuestAddr(pointer), size); readable != 0)
      visit_(GuestAddr(pointer), readable);
  }

  void text(uint64_t pointer) {
    char part[256];
    for (uint64_t size = 0; size < uint64_t{PATH_MAX} * 32;) {
      size_t count = memory_.read(GuestAddr(pointer + size), part, sizeof part);
      const void* end = std::memchr(part, 0, count);
      size += end ? static_cast<size_t>(static_cast<const char*>(end) - part) + 1 : count;
      if (end || count < sizeof part) {
        bytes(pointer, size);
        return;
      }
    }
  }

  void text_list(uint64_t pointer) {
    uint64_t item = 1;
    for (uint64_t at = pointer; item != 0; at += sizeof item) {
      if (memory_.read(GuestAddr(at), &item, sizeof item) < sizeof item) return;
      bytes(at, sizeof item);
      if (item != 0) text(item);
    }
  }

  void vectors(uint64_t pointer, uint64_t count, uint64_t total) {
    for (uint64_t i = 0; i < std::min<uint64_t>(count, IOV_MAX); ++i) {
      iovec vector{};
      uint64_t at = pointer + i * sizeof vector;
      if (memory_.read(GuestAddr(at), &vector, sizeof vector) < sizeof vector) return;
      bytes(at, sizeof vector);
      uint64_t share = std::min<uint64_t>(total, vector.iov_len);
      bytes(reinterpret_cast<uint64_t>(vector.iov_base), share);
      if (total != UINT64_MAX) total -= share;
    }
  }

  void message(uint64_t pointer, uint64_t total) {
    msghdr header{};
    if (memory_.read(GuestAddr(pointer), &header, sizeof header) < sizeof header) return;
    bytes(pointer, sizeof header);
    vectors(reinterpret_cast<uint64_t>(header.msg_iov), header.msg_iovlen, total);
    if (total == 0) return;
    bytes(reinterpret_cast<uint64_t>(header.msg_name), header.msg_namelen);
    bytes(reinterpret_cast<uint64_t>(header.msg_control), header.msg_controllen);
  }

  const SyscallArgs& args_;
  int64_t result_;
  const AccessibleMemory& memory_;
  const ReadVisitor& visit_;
};

} // namespace

void visit_call_reads(uint64_t number, const SyscallArgs& args, int64_t result,
                      const AccessibleMemory& memory, const ReadVisitor& visit) {
  const SyscallInfo* info = find_syscall(number);
  if (info == nullptr) return;
  CallShape shape = shape_of(*info, args);
  CallReads reads(args, result, memory, visit);
  for (unsigned i = 0; i < info->arg_count; ++i)
    reads.argument(shape.arg(i), args[i]);
}

} // namespace rdb
