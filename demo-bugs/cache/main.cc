// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cache STORE ROOM: a catalogue. Carries out the commands of its standard input on a store, through a cache
// that has room for so many pages:
//
//   show NUMBER              the page's title, shelf and price
//   set NUMBER FIELD VALUE   changes a field
//   where FIELD VALUE        all the pages in memory that have it
//   stats                    what the cache did
#include "cache.h"

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace {

void show(Cache& cache, int number) {
  Pinned page(cache, number);
  if (!page) {
    std::cout << number << ": there is none" << std::endl;
    return;
  }
  std::cout << number << ": " << page->field("title") << ", shelf " << page->field("shelf") << ", "
            << page->field("price") << std::endl;
}

void set(Cache& cache, int number, const std::string& field, const std::string& value) {
  Pinned page(cache, number);
  if (!page) return;
  page->fields[field] = value;
  page->dirty = true;
}

void where(const Cache& cache, const std::string& field, const std::string& value) {
  std::cout << field << " " << value << ":";
  for (const Page* page : cache.pages())
    if (page->field(field) == value) std::cout << " " << page->number;
  std::cout << std::endl;
}

void stats(const Cache& cache, const Store& store) {
  std::cout << cache.hits() << " hits, " << store.loads() << " loads, " << store.saves() << " saves, "
            << cache.evicted() << " pages made room" << std::endl;
}

void run(Cache& cache, const Store& store, const std::string& line) {
  std::istringstream words(line);
  std::string command, field, value;
  int number = 0;
  words >> command;
  if (command == "show" && words >> number) {
    show(cache, number);
  } else if (command == "set" && words >> number >> field >> std::ws && std::getline(words, value)) {
    set(cache, number, field, value);
  } else if (command == "where" && words >> field >> std::ws && std::getline(words, value)) {
    where(cache, field, value);
  } else if (command == "stats") {
    stats(cache, store);
  } else {
    std::cout << "what is \"" << line << "\"?" << std::endl;
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cache STORE ROOM <COMMANDS" << std::endl;
    return 2;
  }
  try {
    Store store(argv[1]);
    Cache cache(store, std::strtoul(argv[2], nullptr, 10));
    for (std::string line; std::getline(std::cin, line);)
      run(cache, store, line);
  } catch (const std::exception& error) {
    std::cerr << "cache: " << error.what() << std::endl;
    return 1;
  }
}
