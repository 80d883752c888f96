#include <rdb/rdb.h>
#include <iostream>
#include <string>
#include <vector>
int main() {
  std::string name(100, 'x');
rdb_begin
  std::vector<std::string> copies(3, name);
  std::cout << copies.back().size() << std::endl;
rdb_end
  return static_cast<int>(name.size()) == 100 ? 4 : 0;
}
