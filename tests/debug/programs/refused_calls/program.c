#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <aio.h>
#include <dirent.h>
#include <err.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
int n;
char *line, *filled = "line";
size_t size;
rdb_begin_globals
static FILE *own_stream(void) { return fopen("/dev/null", "r"); }
static pthread_t thread;
static struct sigaction action;
static sigset_t signals;
static struct itimerval interval;
static struct rlimit limit;
static timer_t timer;
static struct aiocb asynchronous;
static ucontext_t context;
static ucontext_t *on_stack(char *stack) { context.uc_stack.ss_sp = stack; return &context; }
static void *work(void *p) { return p; }
static void at_end(void) {}
static void on_end(int status, void *p) { (void)status, (void)p; }
rdb_end_globals
int main(void) {
  for (int i = 0; i < 2; i++) {
    n += i;
REGIONS  }
  rdb_begin
    int file = open("/dev/null", O_RDONLY);
    char *memory = mmap(&n, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    usleep(120000);
    clock_gettime(CLOCK_MONOTONIC, &after);
    double slept = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    int thread_id = (int)syscall(SYS_gettid);
    printf("allowed %d %d %d %d %d\n", close(file), munmap(memory, 4096), slept >= 0.12, thread_id > 0,
        getrlimit(RLIMIT_AS, &limit));
  rdb_end
  printf("n %d\n", n);
  return n;
}
