// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots that debug objects leave undefined: a prefix that says what is wanted, and the symbol's name.
#pragma once

#include <string_view>

namespace rdb::link {

inline constexpr std::string_view kSlotPrefix = "__rdb_slot_";            // whose it is, the rules decide
inline constexpr std::string_view kGuestSlotPrefix = "__rdb_guest_slot_"; // the program's: rdb_guest()
inline constexpr std::string_view kLentSlotPrefix = "__rdb_lent_slot_";   // the program's if it has one

inline bool is_slot(std::string_view name) {
  return name.starts_with(kSlotPrefix) || name.starts_with(kGuestSlotPrefix) ||
         name.starts_with(kLentSlotPrefix);
}

inline std::string_view symbol_of_slot(std::string_view slot) {
  for (std::string_view prefix : {kSlotPrefix, kGuestSlotPrefix, kLentSlotPrefix})
    if (slot.starts_with(prefix)) return slot.substr(prefix.size());
  return slot;
}

} // namespace rdb::link
