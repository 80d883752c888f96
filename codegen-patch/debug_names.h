// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names under which placement's labels and variables travel through the compiler.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace rdb::codegen {

// Before and during optimisation: a region's place, by debug function.
inline std::string label_name(size_t function) {
  return fmt::format("rdb.label.{}", function);
}
// The same of one that came to stand where other paths lead, too.
inline std::string astray_name(size_t function) {
  return fmt::format("rdb.astray.{}", function);
}
// The mark of a write.
inline constexpr const char* kMarkName = "rdb.mark.";
// The mark of a call that leads to regions.
inline constexpr const char* kCallName = "rdb.call.";
// The value of an argument at a region's place.
inline constexpr const char* kSnapshotName = "rdb.at.";
// After it: one instance of it, and the value of its argument there.
inline std::string instance_name(size_t instance) {
  return fmt::format("rdb.instance.{}", instance);
}
inline std::string value_name(size_t instance, size_t position) {
  return fmt::format("rdb.value.{}.{}", instance, position);
}

// Does a variable of this name stand for one of the program, or for an argument?
inline bool is_variable_record(llvm::StringRef name) {
  return name.starts_with("rdb.var.") || name.starts_with(kSnapshotName) || name.starts_with("rdb.value.");
}

inline std::optional<size_t> parse_number(llvm::StringRef name, llvm::StringRef prefix) {
  size_t number = 0;
  if (!name.consume_front(prefix) || name.consumeInteger(10, number)) return std::nullopt;
  return number;
}
inline std::optional<size_t> parse_label(llvm::StringRef name) {
  return parse_number(name, "rdb.label.");
}
inline std::optional<size_t> parse_astray(llvm::StringRef name) {
  return parse_number(name, "rdb.astray.");
}
// Of either kind.
inline std::optional<size_t> region_of_label(llvm::StringRef name) {
  std::optional<size_t> placed = parse_label(name);
  return placed ? placed : parse_astray(name);
}
inline std::optional<size_t> parse_instance(llvm::StringRef name) {
  return parse_number(name, "rdb.instance.");
}
inline std::optional<std::pair<size_t, size_t>> parse_value(llvm::StringRef name) {
  size_t instance = 0;
  size_t position = 0;
  if (!name.consume_front("rdb.value.") || name.consumeInteger(10, instance) || !name.consume_front(".") ||
      name.consumeInteger(10, position))
    return std::nullopt;
  return std::pair(instance, position);
}

// The module flag with which the inliner gives each copy of a store an assignment of its own.
inline constexpr const char* kAssignmentsFlag = "debug-info-assignment-tracking";

// For those who work on placement: what got lost where, and what makes memory stale.
inline bool is_traced() {
  static const bool traced = getenv("RDB_TRACE_PLACEMENT") != nullptr;
  return traced;
}

} // namespace rdb::codegen
