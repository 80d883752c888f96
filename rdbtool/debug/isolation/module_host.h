// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a debug module is told about its host. The module is linked by itself, from C and C++ of the user's
// compiler, and loaded into rdb with dlopen(): it must not depend on rdb's own symbols and types. All that it
// may ask rdb for is therefore one table of C functions (runtime-libs/module/module_host.h), which rdb hands
// to it before any of its code runs.
#pragma once

struct rdb_module_host;

namespace rdb::debug {

class DebugSession;

const rdb_module_host* module_host(DebugSession& session);

} // namespace rdb::debug
