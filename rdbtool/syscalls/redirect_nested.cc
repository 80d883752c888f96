// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Redirection of outputs that structures point to: I/O vectors, messages with names and control data, and the
// few requests with a buffer behind a buffer. The structure is copied to scratch memory and its pointers are
// exchanged there; pointers are never written back, for the kernel does not change them.
#include "rdbtool/syscalls/redirected_call.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rdb {
namespace {

constexpr uint64_t kMostVectors = 1024; // UIO_MAXIOV: more is EINVAL
constexpr size_t kMostInOneCall = 0x7ffff000;
constexpr size_t kLargestSocketName = 128;
constexpr uint64_t kPageSize = 4096;

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

} // namespace

uint64_t RedirectedCall::redirect_iovec(uint64_t pointer, uint64_t count, Stream stream) {
  if (count == 0 || count > kMostVectors) return pointer;
  size_t bytes = count * sizeof(iovec);
  auto* vectors = arena_.allocate_array<iovec>(count);
  if (memory_->read(GuestAddr(pointer), vectors, bytes) < bytes) return faulting(pointer);
  // One negative length makes the kernel refuse them all.
  if (std::any_of(vectors, vectors + count, [](const iovec& v) { return v.iov_len > SSIZE_MAX; }))
    return address_of(vectors);

  size_t room = kMostInOneCall;
  bool start = true;
  for (iovec* vector = vectors; vector != vectors + count; ++vector) {
    size_t size = std::min(vector->iov_len, room);
    room -= size;
    if (size == 0) continue;
    uint64_t to = redirect_out(address_of(vector->iov_base), size,
                               {.rule = WriteRule::stream,
                                .stream_start = start,
                                .message = stream.message,
                                .length = stream.length});
    vector->iov_base = reinterpret_cast<void*>(to);
    start = false;
  }
  return address_of(vectors);
}

// `bytes` may lie anywhere: the guest need not align what the kernel does not require to be aligned.
void RedirectedCall::redirect_message_fields(std::byte* bytes, Stream stream) {
  msghdr header;
  std::memcpy(&header, bytes, sizeof header);
  header.msg_iov =
      reinterpret_cast<iovec*>(redirect_iovec(address_of(header.msg_iov), header.msg_iovlen, stream));
  // A negative length of the name is an error.
  if (static_cast<int32_t>(header.msg_namelen) > 0) {
    size_t room = std::min<size_t>(header.msg_namelen, kLargestSocketName);
    header.msg_name = reinterpret_cast<void*>(redirect_update(address_of(header.msg_name), room));
  }
  header.msg_control =
      reinterpret_cast<void*>(redirect_update(address_of(header.msg_control), header.msg_controllen));
  std::memcpy(bytes, &header, sizeof header);
}

uint64_t RedirectedCall::redirect_msghdr(uint64_t pointer) {
  if (memory_->readable_prefix(GuestAddr(pointer), sizeof(msghdr)) < sizeof(msghdr)) return faulting(pointer);
  Update header = begin_update(pointer, sizeof(msghdr));
  redirect_message_fields(header.scratch, {});
  return end_update(header);
}

uint64_t RedirectedCall::redirect_mmsghdr(uint64_t pointer, uint64_t count) {
  if (count == 0) return pointer;
  // The kernel takes messages one by one: that it can take no more than these is one of its legal results.
  size_t size = std::min(count, kMostVectors) * sizeof(mmsghdr);
  size_t readable = memory_->readable_prefix(GuestAddr(pointer), size);
  if (readable == 0) return faulting(pointer);
  Update headers;
  if (count > kMostVectors) {
    size_t usable = memory_->writable_prefix(GuestAddr(pointer), size);
    faulty_ |= usable < size;
    headers = {pointer, arena_.allocate_before_fault(usable), usable, true};
    readable = memory_->read(GuestAddr(pointer), headers.scratch, usable);
  } else {
    headers = begin_update(pointer, size);
  }
  for (size_t at = 0; at + sizeof(mmsghdr) <= readable; at += sizeof(mmsghdr)) {
    std::byte* header = headers.scratch + at;
    const std::byte* length = header + offsetof(mmsghdr, msg_len);
    redirect_message_fields(header, {static_cast<uint32_t>(at / sizeof(mmsghdr)), length});
  }
  return end_update(headers);
}

uint64_t RedirectedCall::redirect_xattr_args(uint64_t pointer, uint64_t size) {
  struct XattrArgs {
    uint64_t value;
    uint32_t size;
    uint32_t flags;
  };
  if (size < sizeof(XattrArgs) || size > kPageSize) return pointer; // EINVAL, E2BIG
  std::byte* copy = arena_.allocate(size, 0);
  if (memory_->read(GuestAddr(pointer), copy, size) < size) return faulting(pointer);
  auto* args = reinterpret_cast<XattrArgs*>(copy);
  args->value = redirect_out(args->value, args->size, {.rule = WriteRule::stream});
  return address_of(copy);
}

uint64_t RedirectedCall::redirect_ifconf(uint64_t pointer) {
  if (memory_->readable_prefix(GuestAddr(pointer), sizeof(ifconf)) < sizeof(ifconf)) return faulting(pointer);
  Update copy = begin_update(pointer, sizeof(ifconf));
  ifconf request;
  std::memcpy(&request, copy.scratch, sizeof request);
  if (request.ifc_len > 0) {
    uint64_t buffer = redirect_update(address_of(request.ifc_buf), static_cast<size_t>(request.ifc_len));
    request.ifc_buf = reinterpret_cast<char*>(buffer);
  }
  std::memcpy(copy.scratch, &request, sizeof request);
  return end_update(copy);
}

} // namespace rdb
