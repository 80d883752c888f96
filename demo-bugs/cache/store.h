// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages in a file. Its lines are "NUMBER PARENT" (0: none) for the beginning of a page, and "  NAME VALUE"
// for its fields. A page that is saved is appended; the last one of a number is the one that counts.
#pragma once

#include "page.h"

#include <cstdio>

class Store {
public:
  // Throws std::runtime_error if the file cannot be read.
  explicit Store(const std::string& path);
  ~Store();

  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  bool has(int number) const { return places_.count(number) != 0; }
  int parent_of(int number) const { return places_.at(number).parent; }

  // Reads a page, without its parent.
  Page* load(int number);
  void save(const Page& page);

  size_t loads() const { return loads_; }
  size_t saves() const { return saves_; }

private:
  struct Place {
    long offset;
    int parent;
  };

  void index();
  bool read_line(std::string& line);

  std::string path_;
  std::FILE* file_;
  std::map<int, Place> places_;
  size_t loads_ = 0;
  size_t saves_ = 0;
};
