// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors for people: the table that `rdb inspect` prints.
#pragma once

#include "descriptors/descriptor.h"

#include <string>

namespace rdb::descriptors {

// Regions by file and line, each with its locations and where its arguments live there; then whose each
// symbol is.
std::string inspection(const Descriptors& descriptors);

// "register rdi", "stack rbp-24", "unavailable: stale ..."
std::string describe(const Argument& argument);

// A C++ name as it is written in source; other names as they are.
std::string readable_name(const std::string& symbol);

} // namespace rdb::descriptors
