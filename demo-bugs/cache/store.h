// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages in a file. Its lines are "NUMBER PARENT" (0: none) for the beginning of a page, and "  NAME VALUE"
// for its fields. A page that is saved is appended; the last one of a number is the one that counts.
#pragma once

#include "page.h"

#include <fstream>

class Store {
public:
  // Throws std::runtime_error if the file cannot be read.
  explicit Store(const std::string& path);

  bool has(int number) const { return places_.count(number) != 0; }
  int parent_of(int number) const { return places_.at(number).parent; }

  // Reads a page, without its parent.
  Page* load(int number);
  void save(const Page& page);

  size_t loads() const { return loads_; }
  size_t saves() const { return saves_; }

private:
  struct Place {
    std::streamoff offset;
    int parent;
  };

  void index();

  std::string path_;
  std::fstream file_;
  std::map<int, Place> places_;
  size_t loads_ = 0;
  size_t saves_ = 0;
};
