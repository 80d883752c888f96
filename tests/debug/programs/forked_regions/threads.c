// Regions in a thread of a child.
#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *say(void *what) {
  rdb_begin
    printf("says %s\n", (char *)what);
  rdb_end
  return what;
}
int main(void) {
  pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    say("main");
    pthread_create(&thread, 0, say, "thread");
    pthread_join(thread, 0);
    _exit(0);
  }
  waitpid(child, 0, 0);
  return 0;
}
