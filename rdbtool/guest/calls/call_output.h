// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that a system call such as write or writev puts out.
#pragma once

#include "rdbtool/base/hash.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/address_space.h"

#include <functional>
#include <optional>

namespace rdb::guest {

// Where they lie, as show_output() hands them over.
void visit_output(AddressSpace& space, const SystemCall& call, uint64_t most,
                  const std::function<void(GuestAddr address, uint64_t size)>& visit);

// Hands them over piece by piece, at most `most` in all (of sendmmsg, so many messages, as far as they were
// sent); their number. None for other calls.
int64_t show_output(AddressSpace& space, const SystemCall& call, uint64_t most,
                    const std::function<void(const void* bytes, size_t size)>& show);

// A hash of what a call that ended with `result` has read from guest memory: the bytes that it put out, or
// the paths and values that it was given, as they are now. Nothing if it has read nothing, if some of that
// cannot be read any more, or if `may_read` says no to a part of it.
std::optional<uint32_t> hash_output(AddressSpace& space, const SystemCall& call, int64_t result,
                                    const std::function<bool(GuestAddr address, uint64_t size)>& may_read);
inline std::optional<uint32_t> hash_output(AddressSpace& space, const SystemCall& call, int64_t result) {
  return hash_output(space, call, result, [](GuestAddr, uint64_t) { return true; });
}

// For one range that can be read: what hash_output() says of it.
[[gnu::always_inline]] inline uint32_t hash_plain_output(const uint8_t* bytes, uint64_t size) {
  constexpr uint64_t kPiece = 64 << 10;
  uint64_t hash = 0;
  for (; size > kPiece; bytes += kPiece, size -= kPiece)
    hash = hash_bytes(bytes, kPiece, hash);
  hash = hash_bytes(bytes, size, hash);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// SyscallInput::hash with SyscallInput::checks_data.
[[gnu::always_inline]] inline uint64_t join_hashes(uint64_t of_call, uint32_t of_data) {
  return static_cast<uint32_t>(of_call) | uint64_t{of_data} << 32;
}

} // namespace rdb::guest
