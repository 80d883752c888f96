// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cache NUMBER...: shows the title and the section of these pages, through a cache of four.
#include "cache.h"

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  Cache cache(4);
  for (int i = 1; i < argc; ++i) {
    const Page* page = cache.get(std::atoi(argv[i]));
    std::cout << page->field("title") << ", " << page->field("section") << std::endl;
  }
  std::cout << cache.evicted() << " pages made room" << std::endl;
}
