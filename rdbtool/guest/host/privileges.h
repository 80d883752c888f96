// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Privileges that the kernel grants a program beyond those of the user who starts it (set-user-id, file
// capabilities). Under rdb a program has only those of the user.
#pragma once

#include <string>

namespace rdb::guest {

// "set-user-id" or "set-group-id" for a program that the kernel would run as another user or group; empty for
// others.
std::string changed_identity(const std::string& path);

// What a program would have, natively, and has not: "is set-user-id", "has file capabilities"; empty if
// nothing.
std::string lost_privileges(const std::string& path);

} // namespace rdb::guest
