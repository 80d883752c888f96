// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the descriptors of a program from those of its units: ids become unique, addresses final, and what
// the linker left out disappears.
#pragma once

#include "descriptors/descriptor.h"
#include "descriptors/payload.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdb::link {

// A unit that is in the program.
struct LinkedUnit {
  descriptors::Descriptors descriptors;
  std::vector<descriptors::SourceText> sources;
  std::vector<std::optional<uint64_t>> addresses; // of @K; nothing if the linker left the place out
};

// A stripped source and its path in the bundle.
struct BundleSource {
  std::string path;
  std::string text;
};

struct Combined {
  descriptors::Descriptors descriptors; // without program and without symbols that no unit listed
  std::vector<BundleSource> sources;
};

// Throws std::runtime_error if a unit's descriptors refer to addresses that its table does not have.
Combined combine(const std::vector<LinkedUnit>& units);

} // namespace rdb::link
