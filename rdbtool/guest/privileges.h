// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernel gives to some programs beyond the rights of who starts them: rdb, which runs them, has no
// more than those.
#pragma once

#include <string>

namespace rdb::guest {

// A program that the kernel would run as another user or group.
bool changes_identity(const std::string& path);

// What a program would have, natively, and has not: "is set-user-id", "has file capabilities"; empty if
// nothing.
std::string lost_privileges(const std::string& path);

} // namespace rdb::guest
