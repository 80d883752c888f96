// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug variables that the regions of one function share. Such a variable lives as long as one call of the
// function does, but it cannot be in the program's stack frame, where nothing was kept free for it. So each
// call has its own storage here, found by the frame's address (its CFA).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace rdb::debug {

class Bundle;

class Activations {
public:
  // A new call of the function begins: what an older call has left at this frame is over.
  void begin(const Bundle& bundle, uint32_t id, uint64_t cfa) { storage_.erase({&bundle, id, cfa}); }
  // The variable in this call; zeroes at first.
  void* find(const Bundle& bundle, uint32_t id, uint64_t cfa);

private:
  std::map<std::tuple<const Bundle*, uint32_t, uint64_t>, std::vector<std::byte>> storage_;
};

} // namespace rdb::debug
