// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machine code as text, for tests of what the engine emits.
#pragma once

#include <Zydis/Zydis.h>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace rdb::engine {

// One line per instruction, joined by "; ". The address of `slot` reads as "SLOT".
inline std::string disassembly(const uint8_t* begin, const uint8_t* end, const void* slot = nullptr) {
  std::string result;
  for (const uint8_t* at = begin; at < end;) {
    ZydisDisassembledInstruction instruction;
    auto address = reinterpret_cast<uint64_t>(at);
    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, address, at,
                                            static_cast<ZyanUSize>(end - at), &instruction)))
      return result + "(invalid)";
    if (!result.empty()) result += "; ";
    result += instruction.text;
    at += instruction.info.length;
  }
  std::string name = fmt::format("0x{:016X}", reinterpret_cast<uint64_t>(slot));
  for (size_t found; slot != nullptr && (found = result.find(name)) != std::string::npos;)
    result.replace(found, name.size(), "SLOT");
  return result;
}

} // namespace rdb::engine
