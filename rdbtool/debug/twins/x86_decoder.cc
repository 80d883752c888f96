// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/x86_decoder.h"

namespace rdb::debug {

const ZydisDecoder& x86_decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

} // namespace rdb::debug
