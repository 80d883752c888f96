// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which argument registers a recorded function takes anything from.
//
// A caller that is compiled together with a function knows what the function does not use, and leaves
// anything in those registers, though the prototype has an argument there. A twin would take that for the
// argument. So an argument is believed only if the machine code of the function reads its register before it
// writes to it, on some path from its first instruction: then every caller must put it there.
#pragma once

#include "rdbtool/debug/twins/program_symbols.h"
#include "rdbtool/debug/twins/twin_facts.h"

#include <cstdint>
#include <unordered_map>

namespace rdb::debug {

class EntryRegisters {
public:
  explicit EntryRegisters(const ProgramSymbols& program) : program_(program) {}

  // As in ArgumentRegisters: those of the function at this address, as linked, that are surely read.
  ArgumentRegisters read_by(uint64_t function);

private:
  ArgumentRegisters find(uint64_t function);

  const ProgramSymbols& program_;
  std::unordered_map<uint64_t, ArgumentRegisters> known_;
};

} // namespace rdb::debug
