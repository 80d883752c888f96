// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/refusal.h"

#include "rdbtool/base/error.h"
#include "runtime-libs/module/module_host.h"

#include <cstdio>
#include <unistd.h>

namespace rdb::debug {
namespace {

// One debug function runs at a time in a process.
Escape* g_escape = nullptr;

void refuse(const char* what) {
  give_up(std::string("debug code must not call ") + what);
}

} // namespace

const rdb_module_host* module_host() {
  static const rdb_module_host host{RDB_MODULE_HOST_VERSION, refuse};
  return &host;
}

void set_escape(Escape* escape) {
  g_escape = escape;
}

bool can_escape() {
  return g_escape != nullptr;
}

void give_up(const std::string& reason) {
  if (g_escape == nullptr) {
    // A constructor of the module: there is no region to go back to.
    fmt::print(stderr, "rdb: {} (outside of any region)\n", reason);
    std::fflush(nullptr);
    _exit(kExitFailure);
  }
  g_escape->reason = reason;
  siglongjmp(g_escape->place, 1);
}

} // namespace rdb::debug
