#include <rdb/rdb.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
char text[] = "0123456789";
char path[] = "input";
struct iovec parts[] = {{text, 2}, {text + 4, 3}};
struct timespec no_time = {0, 1};
rdb_begin_globals
static void seen(const struct rdb_event *e) {
  printf("%s %s [%d..%d) of %s%s\n", e->kind == RDB_ACCESS_BEFORE ? "before" : "after", e->is_write ? "write" : "read",
         (int)((const char *)e->touched - (const char *)e->address),
         (int)((const char *)e->touched - (const char *)e->address + e->touched_size), (const char *)e->data,
         e->by_system_call ? ", by a system call" : "");
}
rdb_end_globals
int main(void) {
  rdb_begin
    rdb_on_read(text, sizeof text, seen, "text");
    rdb_on_read_before(text, sizeof text, seen, "text");
    rdb_on_read(path, sizeof path, seen, "path");
    rdb_on_read(parts, sizeof parts, seen, "parts");
    rdb_on_read(&no_time, sizeof no_time, seen, "no_time");
    rdb_on_write(text, sizeof text, seen, "text written");
  rdb_end
  int ends[2];
  if (write(-1, text, 4) != -1 || pipe(ends)) return 1;
  if (write(ends[1], text + 2, 4) != 4 || writev(ends[1], parts, 2) != 5) return 2;
  if (access(path, R_OK) || nanosleep(&no_time, 0)) return 3;
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || sendmsg(pair[0], &message, 0) != 2) return 4;
  if (read(pair[1], text, 1) != 1) return 5;
  return 0;
}
