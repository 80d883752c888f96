// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A test of the table of system calls: while the kernel carries out a recorded call, all its output goes to
// scratch memory, so guest memory must not change. A page that does is output that the table does not know,
// and would be missing on replay.
#pragma once

#include "rdbtool/guest/memory/memory_hash.h"

#include <vector>

namespace rdb::record {

class PageCheck {
public:
  void before(const guest::AddressSpace& space) { collect(space, before_); }
  // A Bug that names the call and the page.
  void after(const guest::AddressSpace& space, const char* call);

private:
  static void collect(const guest::AddressSpace& space, std::vector<guest::PageHash>& pages);

  std::vector<guest::PageHash> before_;
  std::vector<guest::PageHash> after_;
};

} // namespace rdb::record
