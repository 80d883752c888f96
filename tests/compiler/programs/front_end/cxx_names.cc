#include <rdb/rdb.h>
#include <cstdio>
rdb_begin_globals
#include <vector>
namespace __rdb_tools { std::vector<int> seen; }
rdb_end_globals
int main(int argc, char **argv) {
  rdb_begin
    __rdb_tools::seen.push_back(argc);
    std::printf("%zu\n", __rdb_tools::seen.size());
  rdb_end
  return argc - 1;
}
