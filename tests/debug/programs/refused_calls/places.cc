#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
extern int in_library(int i);
#ifdef __cplusplus
}
#endif
int turn, handled;
rdb_begin_globals
static void bad(int i) { if (i == 1) { WHAT; } }
static void each(int i) { printf("callback %d\n", i); bad(i); }
rdb_end_globals
#ifdef LIBRARY
int in_library(int i) {
  int k = i * 2;
  rdb_begin
    printf("library %d\n", i);
    bad(i);
  rdb_end
  return k;
}
#else
void call_each(int i, void (*f)(int)) { turn += i; f(i); turn -= i; }
static void handler(int s) {
  (void)s;
  int i = handled++;
  rdb_begin
    printf("handler %d\n", i);
    bad(i);
  rdb_end
}
static void *worker(void *) {
  for (int i = 0; i < 3; i++) {
    turn++;
    rdb_begin
      printf("thread %d\n", i);
      bad(i);
    rdb_end
    turn++;
  }
  return 0;
}
__attribute__((constructor)) static void early(void) {
  for (int i = 0; i < 3; i++) {
    turn++;
    rdb_begin
      printf("early %d\n", i);
      bad(i);
    rdb_end
    turn++;
  }
}
static void late(void) {
  for (int i = 0; i < 3; i++) {
    turn++;
    rdb_begin
      printf("late %d\n", i);
      bad(i);
    rdb_end
    turn++;
  }
}
int main(int argc, char **argv) {
  (void)argv;
  atexit(late);
  signal(SIGUSR1, handler);
  for (int i = 0; i < 3; i++) {
    turn += in_library(i);
    rdb_begin
      printf("main %d\n", i);
      call_each(i, each);
    rdb_end
    turn++;
    raise(SIGUSR1);
    if (argc > 5) call_each(i, 0);
  }
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  pthread_join(thread, 0);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 3; i++) {
      turn++;
      rdb_begin
        printf("child %d\n", i);
        bad(i);
      rdb_end
      turn++;
    }
    _exit(turn & 63);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("turn %d child %d\n", turn, WEXITSTATUS(status));
  return 0;
}
#endif
