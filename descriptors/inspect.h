// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors for people: the table that `rdb inspect` prints.
#pragma once

#include "descriptors/descriptor.h"

#include <map>
#include <string>

namespace rdb::descriptors {

// Regions by file and line, each with its locations and where its arguments live there; then whose each
// symbol is. `twins` is the bundle's, by the name of their files: the text of section .rdbtwin.
using TwinTexts = std::map<std::string, std::string>;
std::string inspection(const Descriptors& descriptors, const TwinTexts& twins = {});

// "register rdi", "stack rbp-24", "unavailable: stale ..."
std::string describe(const Argument& argument);

// A C++ name as it is written in source; other names as they are.
std::string readable_name(const std::string& symbol);

} // namespace rdb::descriptors
