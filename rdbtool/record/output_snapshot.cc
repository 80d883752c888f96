// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/output_snapshot.h"

#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/syscalls/call_properties.h"

#include <climits>
#include <cstring>
#include <utility>

namespace rdb::record {
namespace {

// How a call names its bytes; none if no copy can be put in their place.
DataForm form_of(const guest::SystemCall& call) {
  DataForm form = properties_of(call.number).writes;
  if (form == DataForm::vectors) return call.arguments[2] <= IOV_MAX ? form : DataForm::none;
  return form == DataForm::buffer ? form : DataForm::none;
}

// What the call asks for; more than that is an error or is cut by the kernel.
bool asks_for(guest::Machine& machine, const guest::SystemCall& call, DataForm form, uint64_t size) {
  if (form == DataForm::buffer) return call.arguments[2] == size;
  uint64_t total = 0;
  for (uint64_t i = 0; i < call.arguments[2]; ++i) {
    iovec vector;
    GuestAddr at(call.arguments[1] + i * sizeof vector);
    if (machine.space().read(at, &vector, sizeof vector) != sizeof vector) return false;
    total += vector.iov_len;
  }
  return total == size;
}

} // namespace

void OutputBytes::take(guest::Machine& machine, const guest::SystemCall& call, SyscallArgs& arguments) {
  constexpr uint64_t kMost = 64u << 20;
  DataForm form = form_of(call);
  if (form == DataForm::none) return;
  bytes_.clear();
  guest::show_output(machine.space(), call, kMost, [&](const void* piece, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(piece);
    bytes_.insert(bytes_.end(), begin, begin + size);
  });
  // Where not all can be read, the kernel finds out how far.
  if (!asks_for(machine, call, form, bytes_.size())) return;
  taken_ = true;
  if (form == DataForm::buffer) {
    arguments[1] = reinterpret_cast<uint64_t>(bytes_.data());
    return;
  }
  vector_ = {bytes_.data(), bytes_.size()};
  arguments[1] = reinterpret_cast<uint64_t>(&vector_);
  arguments[2] = 1;
}

bool OutputBytes::differ(guest::Machine& machine, const guest::SystemCall& call, int64_t result) {
  if (!std::exchange(taken_, false) || result <= 0) return false;
  bytes_.resize(static_cast<size_t>(result));
  // Even if no instruction was executed: another thread's call may have come back with bytes for this place.
  size_t compared = 0;
  bool same = true;
  guest::show_output(machine.space(), call, bytes_.size(), [&](const void* piece, size_t size) {
    same =
        same && size <= bytes_.size() - compared && std::memcmp(piece, bytes_.data() + compared, size) == 0;
    compared += size;
  });
  return !same || compared != bytes_.size();
}

} // namespace rdb::record
