// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/call_output.h"

#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cstddef>
#include <sys/socket.h>
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
  uint64_t room = most;
  auto piece = [&](uint64_t address, uint64_t size) {
    uint64_t left = std::min(room, size);
    std::vector<char> bytes(std::min<uint64_t>(left, kMostAtOnce));
    while (left > 0) {
      size_t n = space.read(GuestAddr(address), bytes.data(), std::min<uint64_t>(left, bytes.size()));
      if (n == 0) return;
      show(bytes.data(), n);
      done += n;
      room -= n;
      address += n;
      left -= n;
    }
  };
  auto vectors = [&](uint64_t address, uint64_t count) {
    for (uint64_t i = 0; i < count && room > 0; ++i) {
      iovec vector;
      if (space.read(GuestAddr(address + i * sizeof vector), &vector, sizeof vector) != sizeof vector) break;
      piece(reinterpret_cast<uint64_t>(vector.iov_base), vector.iov_len);
    }
  };
  auto message = [&](uint64_t address) {
    msghdr header;
    if (space.read(GuestAddr(address), &header, sizeof header) == sizeof header)
      vectors(reinterpret_cast<uint64_t>(header.msg_iov), header.msg_iovlen);
  };
  switch (properties_of(call.number).writes) {
  case DataForm::buffer:
    piece(arguments[1], arguments[2]);
    break;
  case DataForm::vectors:
    vectors(arguments[1], arguments[2]);
    break;
  case DataForm::message:
    message(arguments[1]);
    break;
  case DataForm::messages:
    for (uint64_t i = 0; i < std::min(most, arguments[2]); ++i) {
      uint64_t address = arguments[1] + i * sizeof(mmsghdr);
      uint32_t sent = 0;
      space.read(GuestAddr(address + offsetof(mmsghdr, msg_len)), &sent, sizeof sent);
      room = sent;
      message(address);
    }
    break;
  case DataForm::none:
    break;
  }
  return static_cast<int64_t>(done);
}

} // namespace rdb::guest
