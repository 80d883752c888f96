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

int parent_of(int number) {
  return number % 10 == 0 ? 0 : number / 10 * 10;
}

Page* load_page(int number) {
  auto* page = new Page;
  page->number = number;
  page->fields["title"] = "page " + std::to_string(number);
  if (parent_of(number) == 0) page->fields["section"] = "section " + std::to_string(number / 10);
  return page;
}
