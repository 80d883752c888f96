// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A command line in the form that the exec calls take.
#pragma once

#include <string>
#include <vector>

namespace rdb {

// Pointers into `words`, which must outlive them, and a null behind the last.
inline std::vector<char*> exec_words(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

} // namespace rdb
