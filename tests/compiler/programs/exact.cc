// A difference of pointers divides without a rest, and passes know that: the element of an index that came
// from such a difference is found without dividing. Values that inlined functions return are named by
// regions, and by nobody else.
#include <rdb/rdb.h>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Line {
  long begin, end;
  int marks[14];
};

static std::vector<Line> lines;

NOINLINE long last(long add) {
  size_t index = lines.size() - 1;
  Line& at = lines[index];
  rdb_begin
    printf("last %ld\n", at.begin);
  rdb_end
  at.end += add;
  return at.end;
}

static int operations;

NOINLINE int sum(const std::map<std::string, int>& prices) {
  int total = 0;
  for (const auto& [name, price] : prices) {
    total += price;
    rdb_begin
      printf("price of %s: %d of %d\n", name.c_str(), price, total);
    rdb_end
    operations++;
  }
  return total;
}

struct Reader {
  const char* text;
  size_t size, at;
  const char* here() const { return text + at; }
  size_t left() const { return size - at; }
  const Reader& self() const { return *this; }
};

NOINLINE size_t skip(Reader& reader, size_t by) {
  size_t left = reader.left();
  const char* here = reader.here();
  const Reader& same = reader.self();
  rdb_begin
    printf("left %zu %c\n", left, *here);
  rdb_end
  rdb_begin
    printf("at %zu\n", same.at);
  rdb_end
  reader.at += by;
  return by;
}

int main(int argc, char**) {
  for (int i = 0; i < 5; i++)
    lines.push_back({i * 10L, i, {}});
  Reader reader{"some text", 9, 1};
  long result = last(argc) + sum({{"bread", 3}, {"milk", argc}}) + static_cast<long>(skip(reader, 2) + skip(reader, 3));
  printf("%ld %d %zu\n", result, operations, reader.at);
}
