// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/call_output.h"

#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/syscalls/call_properties.h"
#include "rdbtool/syscalls/call_reads.h"

#include <algorithm>
#include <cstddef>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <vector>

namespace rdb::guest {
namespace {

using Visit = std::function<void(GuestAddr address, uint64_t size)>;

constexpr uint64_t kMostAtOnce = 1u << 20;
constexpr uint64_t kHashedAtOnce = 64 << 10; // see hash_plain_output()

// Whether an argument is read for sure by a call that has succeeded, or not at all. What is also written may
// be memory that only replay can read, where a file was cut off.
bool is_read_or_not(const ArgSpec& argument) {
  switch (argument.kind) {
  case ArgKind::update:
  case ArgKind::update_exact:
  case ArgKind::update_array:
  case ArgKind::update_bits:
  case ArgKind::update_by_length:
  case ArgKind::sockaddr:
  case ArgKind::iovec_out:
  case ArgKind::msghdr:
    return false;
  default:
    return true;
  }
}

// What a call was given beside data that goes to a descriptor: paths, values of attributes, messages of
// queues. Calls that replay answers without a closer look are left out: they read small structures at most,
// whose use shows in the result.
void visit_arguments(AddressSpace& space, const SystemCall& call, const Visit& visit) {
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
  if (info == nullptr || info->properties.fast != FastPath::no ||
      !std::ranges::all_of(info->args, is_read_or_not))
    return;
  if (call.number == SYS_msgsnd) // a type stands before the text
    visit(GuestAddr(call.arguments[1]), sizeof(int64_t) + call.arguments[2]);
  SpaceView view(space);
  visit_call_reads(static_cast<uint64_t>(call.number), call.arguments, 0, view, visit);
}

} // namespace

void visit_output(AddressSpace& space, const SystemCall& call, uint64_t most, const Visit& visit) {
  const SyscallArgs& arguments = call.arguments;
  uint64_t room = most;
  auto piece = [&](uint64_t address, uint64_t size) {
    uint64_t taken = std::min(room, size);
    room -= taken;
    if (taken != 0) visit(GuestAddr(address), taken);
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
}

int64_t show_output(AddressSpace& space, const SystemCall& call, uint64_t most,
                    const std::function<void(const void* bytes, size_t size)>& show) {
  uint64_t done = 0;
  std::vector<char> bytes;
  visit_output(space, call, most, [&](GuestAddr address, uint64_t left) {
    bytes.resize(std::max(bytes.size(), std::min<uint64_t>(left, kMostAtOnce)));
    while (left > 0) {
      size_t n = space.read(address, bytes.data(), std::min<uint64_t>(left, bytes.size()));
      if (n == 0) return;
      show(bytes.data(), n);
      done += n;
      address += n;
      left -= n;
    }
  });
  return static_cast<int64_t>(done);
}

std::optional<uint32_t> hash_output(AddressSpace& space, const SystemCall& call, int64_t result,
                                    const std::function<bool(GuestAddr address, uint64_t size)>& may_read) {
  if (result < 0) return std::nullopt;
  bool any = false;
  bool all = true;
  uint64_t hash = 0;
  std::vector<uint8_t> copy;
  auto add = [&](GuestAddr address, uint64_t left) {
    any = true;
    if (!all || !may_read(address, left)) {
      all = false;
      return;
    }
    bool plain = space.is_plain(address.value, left);
    do {
      uint64_t size = std::min(left, kHashedAtOnce);
      const uint8_t* bytes = address.ptr<const uint8_t>();
      if (!plain) {
        copy.resize(std::max<size_t>(copy.size(), size));
        if (space.read(address, copy.data(), size) != size) {
          all = false;
          return;
        }
        bytes = copy.data();
      }
      hash = hash_bytes(bytes, size, hash);
      address += size;
      left -= size;
    } while (left != 0);
  };
  if (properties_of(call.number).writes == DataForm::none)
    visit_arguments(space, call, add);
  else
    visit_output(space, call, static_cast<uint64_t>(result), add);
  if (!any || !all) return std::nullopt;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

} // namespace rdb::guest
