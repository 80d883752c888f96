// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page of the store: a few named fields, and how often it was asked for.
#pragma once

#include <map>
#include <string>

struct Page {
  int number = 0;
  long uses = 0;
  std::map<std::string, std::string> fields;
  const Page* parent = nullptr; // where missing fields are looked up

  const std::string& field(const std::string& name) const;
};

// Reads the page as it is in the store, without its parent.
Page* load_page(int number);
int parent_of(int number); // 0: it has none
