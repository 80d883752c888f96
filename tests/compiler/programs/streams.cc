// iostream in the program and only in debug code; containers of the program in debug code.
#include <rdb/rdb.h>
#include <cstdio>
#include <map>
#include <string>
rdb_begin_globals
#include <iostream>
#include <sstream>
static std::string join(const std::map<std::string, int> &m) {
  std::ostringstream out;
  for (const auto &[key, value] : m) out << key << "=" << value << " ";
  return out.str();
}
rdb_end_globals
static std::map<std::string, int> counts;
static void count(const std::string &word) {
  int &n = counts[word];
  n++;
  rdb_begin
    std::cout << "word " << word << " n=" << n << "\n";
  rdb_end
}
int main() {
  for (const char *word : {"to", "be", "or", "not", "to", "be"}) count(word);
  rdb_begin
    std::cout << join(counts) << std::endl;
  rdb_end
  std::printf("%zu\n", counts.size());
  return 0;
}
