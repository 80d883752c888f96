// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decoder of those who look at the machine code of programs and twins.
#pragma once

#include <Zydis/Zydis.h>

namespace rdb::debug {

const ZydisDecoder& x86_decoder();

} // namespace rdb::debug
