// Objects that live from one region to the next, once per call: they are made where they are declared and never destroyed.
// With the regions compiled in, that needs them outside of the regions: hence the pointers that only that build has.
#include <stdio.h>
#include <string>
#include <rdb/rdb.h>

struct Log {
  int n;
  explicit Log(int k) : n(k) {}
  ~Log() { printf("gone %d\n", n); }
};

__attribute__((noinline)) int climb(int n) {
#ifdef RDB_INLINE
  Log* shared = nullptr;
  std::string* words = nullptr;
#endif
  rdb_begin
#ifdef RDB_INLINE
  Log& log = *(shared = new Log(n));
  std::string& text = *(words = new std::string(20 + n, 'x'));
#else
  Log log(n);
  std::string text(20 + n, 'x');
#endif
  printf("climb %d %zu\n", log.n, text.size());
  rdb_end
  int r = n > 0 ? climb(n - 1) + 1 : 0;
  rdb_begin
#ifdef RDB_INLINE
  Log& log = *shared;
  std::string& text = *words;
#endif
  text += 'y';
  printf("climbed %d %zu r=%d\n", log.n, text.size(), r);
  rdb_end
  return r;
}

int main() { return climb(3) == 3 ? 0 : 1; }
