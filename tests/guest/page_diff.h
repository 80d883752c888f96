// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds what a system call changed in guest memory behind the table's back. The recorder's debug mode takes
// an image before and after each call; a changed byte that no write announced is a bug in the table.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/syscalls/redirected_call.h"

#include <span>
#include <string>
#include <vector>

namespace rdb {

struct UnannouncedChange {
  GuestAddr address;
  size_t size = 0;
};

// `before` and `after` are images of the same guest memory, which begins at `start`. Neighbouring changed
// bytes are one change. At most `limit` changes are reported.
std::vector<UnannouncedChange> unannounced_changes(GuestAddr start, std::span<const std::byte> before,
                                                   std::span<const std::byte> after,
                                                   std::span<const MemoryWrite> announced, size_t limit = 64);

} // namespace rdb
