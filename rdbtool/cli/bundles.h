// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bundles' debug regions run in a replay: those named, else the one beside the recorded program.
#pragma once

#include "rdbtool/debug/bundle.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::cli {

using Bundles = std::vector<std::unique_ptr<debug::Bundle>>;

// The bundles at `paths`; if there are none, the one that rdb-clang left beside `program`, if it is the
// user's own and fits (and says so). An empty `program`: does not look.
Bundles choose_bundles(const std::vector<std::string>& paths, const std::string& program);

} // namespace rdb::cli
