// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/computed_answer.h"

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/space_view.h"

#include <cerrno>

namespace rdb::guest {

int64_t write_answer(AddressSpace& space, const ComputedAnswer& answer) {
  // All of it or nothing: what is written is what the recording has.
  SpaceView view(space);
  for (const ComputedAnswer::Write& write : answer.writes)
    if (view.writable_prefix(write.to, write.bytes.size()) != write.bytes.size()) return -EFAULT;
  for (const ComputedAnswer::Write& write : answer.writes)
    space.write(write.to, write.bytes.data(), write.bytes.size());
  return answer.result;
}

} // namespace rdb::guest
