#include "descriptors/inspect.h"
#include <cstdio>
#include <fstream>
#include <iterator>
int main(int, char** argv) {
  std::ifstream file(argv[1]);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  rdb::descriptors::Descriptors all = rdb::descriptors::read(text, argv[1]);
  std::puts(rdb::descriptors::inspection(all).c_str());
  return rdb::descriptors::write(all) != text;
}
