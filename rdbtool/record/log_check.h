// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of a recorded process when its log takes nothing more.
#pragma once

namespace rdb::record {

// To be given what each append says. If it failed, the recording ends here: the program is told nothing and
// goes on no further, and the parent, which knows why, says it.
void check(bool appended);

} // namespace rdb::record
