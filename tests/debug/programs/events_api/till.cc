#include <rdb/rdb.h>
#include <cstdio>
struct Till { int total = 0; void add(int n) { total += n; } };
Till till;
int main() {
  rdb_begin
    rdb::on_write(till.total, [k = 0](const rdb_event &e) mutable {
      std::printf("total %d, change %d\n", *static_cast<const int *>(e.new_bytes), ++k);
    });
    rdb::on_call("Till::add", [](const rdb_event &e) { std::printf("add %d\n", static_cast<int>(e.arguments[1])); });
    rdb::on_exit([](const rdb_event &e) { std::printf("exit %ld\n", e.number); });
  rdb_end
  till.add(3);
  till.add(4);
  return till.total;
}
