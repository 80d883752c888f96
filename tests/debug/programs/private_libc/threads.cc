#include <rdb/rdb.h>
#include <cstdio>
#include <thread>
int n;
rdb_begin_globals
#include <string>
struct Life {
  std::string name = "somebody whose name is long";
  int hits = 0;
  ~Life() { std::printf("end of %s, %d hits\n", name.c_str(), hits); }
};
static thread_local Life life;
static thread_local int count = 40;
static __thread long plain;
static thread_local long *where = &plain;
rdb_end_globals
__attribute__((noinline)) void work(int id) {
  for (int i = 0; i < 2; i++) {
    __asm__ volatile("" : : "r"(id), "r"(i) : "memory");
    rdb_begin
      if (life.hits++ == 0) life.name += ", of thread " + std::to_string(id);
      ++*where;
      std::printf("%d: %d %ld %d %s\n", id, ++count, plain, life.hits, life.name.c_str() + 28);
    rdb_end
    __asm__ volatile("" : : "r"(id), "r"(i) : "memory");
    std::this_thread::yield();
  }
}
int main() {
  work(0);
  std::thread first(work, 1);
  first.join();
  std::thread second(work, 2);
  work(3);
  second.join();
  return 0;
}
