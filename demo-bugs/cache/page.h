// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page of the store: a few named fields. What a page does not say itself, its parent says.
#pragma once

#include <map>
#include <string>

struct Page {
  int number = 0;
  int pins = 0;       // users who need it to stay in memory
  bool dirty = false; // differs from what is in the store
  std::map<std::string, std::string> fields;
  Page* parent = nullptr; // where missing fields are looked up

  // The field's value, from here or from the nearest parent that has it; "-" if none has.
  const std::string& field(const std::string& name) const;
};
