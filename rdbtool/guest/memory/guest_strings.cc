// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/guest_strings.h"

#include <algorithm>
#include <cstring>

namespace rdb::guest {

// What one string of exec may have (MAX_ARG_STRLEN).
constexpr size_t kLongestString = 131072;

bool read_string(AddressSpace& space, uint64_t address, std::string& out) {
  out.clear();
  char part[256];
  for (;;) {
    size_t want = std::min<size_t>(sizeof part, kPage - (address & (kPage - 1)));
    size_t got = space.read(GuestAddr(address), part, want);
    if (got == 0) return false;
    size_t length = strnlen(part, got);
    out.append(part, length);
    if (length < got) return true;
    if (out.size() > kLongestString) return true; // longer than any call takes
    address += got;
  }
}

bool read_strings(AddressSpace& space, uint64_t list, std::vector<std::string>& out) {
  if (list == 0) return true;
  for (;; list += 8) {
    uint64_t address;
    if (space.read(GuestAddr(list), &address, 8) != 8) return false;
    if (address == 0) return true;
    if (!read_string(space, address, out.emplace_back())) return false;
  }
}

} // namespace rdb::guest
