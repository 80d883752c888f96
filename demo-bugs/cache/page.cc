// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page.h"

const std::string& Page::field(const std::string& name) const {
  static const std::string none = "-";
  for (const Page* page = this; page; page = page->parent) {
    auto found = page->fields.find(name);
    if (found != page->fields.end()) return found->second;
  }
  return none;
}
