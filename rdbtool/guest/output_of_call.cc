// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/output_of_call.h"

#include <algorithm>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <vector>

namespace rdb::guest {
namespace {

constexpr uint64_t kMostAtOnce = 1u << 20;

} // namespace

int64_t show_output(AddressSpace& space, const SystemCall& call, uint64_t most,
                    const std::function<void(const void* bytes, size_t size)>& show) {
  const SyscallArgs& arguments = call.arguments;
  uint64_t done = 0;
  auto piece = [&](uint64_t address, uint64_t size) {
    uint64_t left = std::min(most - done, size);
    std::vector<char> bytes(std::min<uint64_t>(left, kMostAtOnce));
    while (left > 0) {
      size_t n = space.read(GuestAddr(address), bytes.data(), std::min<uint64_t>(left, bytes.size()));
      if (n == 0) return;
      show(bytes.data(), n);
      done += n;
      address += n;
      left -= n;
    }
  };
  switch (call.number) {
  case SYS_write:
  case SYS_pwrite64:
  case SYS_sendto:
    piece(arguments[1], arguments[2]);
    break;
  case SYS_writev:
  case SYS_pwritev:
  case SYS_pwritev2:
    for (uint64_t i = 0; i < arguments[2] && done < most; ++i) {
      iovec vector;
      if (space.read(GuestAddr(arguments[1] + i * sizeof vector), &vector, sizeof vector) != sizeof vector)
        break;
      piece(reinterpret_cast<uint64_t>(vector.iov_base), vector.iov_len);
    }
    break;
  default:
    break;
  }
  return static_cast<int64_t>(done);
}

} // namespace rdb::guest
