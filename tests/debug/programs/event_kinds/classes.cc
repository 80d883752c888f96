#include <rdb/rdb.h>
#include <cstdio>
#include <cstring>
#include <string>
namespace shop {
struct Till {
  int total = 0;
  __attribute__((noinline)) void add(int n) { total += n; }
  __attribute__((noinline)) void add(const char *text) { total += static_cast<int>(std::strlen(text)); }
};
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
}
shop::Till till;
rdb_begin_globals
static rdb_id once;
static struct Register {
  Register() {
    rdb::on_call("shop::Till::add(int)", [](const rdb_event &e) { std::printf("add int %d\n", (int)e.arguments[1]); });
    rdb::on_call("shop::Till::add(char const*)", [](const rdb_event &e) {
      std::printf("add %s\n", (const char *)e.arguments[1]);
    });
    rdb::on_return("*shop::twice<*>(*)", [](const rdb_event &e) { std::printf("twice %ld\n", e.result); });
    rdb::on_call("strle?", [](const rdb_event &) { std::printf("a strlen\n"); });
    rdb::on_syscall_before("exit_group", [](const rdb_event &e) { std::printf("exit_group(%lu)\n", e.arguments[0]); });
    rdb::on_exit([](const rdb_event &e) { std::printf("exit %ld\n", e.number); });
  }
} registers;
rdb_end_globals
int main() {
  rdb_begin
    once = rdb::on_access(till.total, [](const rdb_event &e) {
      std::printf("%s %d, removed %d\n", e.is_write ? "write" : "read", till.total, rdb_remove(once));
    });
    rdb::on_time(rdb_time() + 5, [](const rdb_event &e) { std::printf("five later %d\n", e.kind == RDB_TIME); });
  rdb_end
  till.add(3);
  till.add("four");
  std::printf("%d %ld\n", shop::twice(4), shop::twice(5l));
  return till.total;
}
