// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Was g inlined into f? The source calls it three times there; if the machine code of f has three direct
// calls of g, it was not, and each call of g can be seen at g's entry. So the calls in the recorded code are
// counted.
#pragma once

#include "rdbtool/debug/twins/program_symbols.h"

#include <cstdint>
#include <map>
#include <unordered_map>

namespace rdb::debug {

class DirectCalls {
public:
  explicit DirectCalls(const ProgramSymbols& program);

  // Calls and jumps in the code of a function and of its pieces elsewhere (.cold, .part), by what they lead
  // to outside of that code, also through the table of linked functions. As linked. `size` may be 0 if it is
  // not known: then nothing is found.
  const std::map<uint64_t, unsigned>& of(std::string_view name, uint64_t address, uint64_t size);
  unsigned count(const ProgramSymbols::Function& from, uint64_t to);

private:
  void find_linked_functions();
  void decode(uint64_t begin, uint64_t size, std::map<uint64_t, unsigned>& calls) const;

  const ProgramSymbols& program_;
  std::unordered_map<uint64_t, uint64_t> by_slot_; // where the address of a function of the program is kept
  std::unordered_map<uint64_t, uint64_t> linked_;  // code that jumps to such a function
  std::map<uint64_t, std::map<uint64_t, unsigned>> known_;
};

} // namespace rdb::debug
