#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <iconv.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
struct all {
  int number, table[6];
  long big;
  double real, other;
  char text[64], words[64], *end, *line;
  size_t size;
  struct timespec ts;
  struct timeval tv;
  time_t now;
  struct tm tm;
  struct stat st;
  wchar_t wide[20];
  pthread_mutex_t lock;
  sem_t semaphore;
  char room[20000];
};
int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) void bump_all(struct all *p) { p->number++; }
rdb_begin_globals
static int own_order(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
static int by_list(const char *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = vsscanf(text, format, list);
  va_end(list);
  return count;
}
static jmp_buf *jump_to;
static int jumping(const void *a, const void *b) { (void)a, (void)b; longjmp(*jump_to, 1); }
static void fill(char *text) { strcpy(text, "filled"); }
static void (*volatile fillers[1])(char *) = {fill};
rdb_end_globals
FUNCTIONS
int main(void) {
  struct all *p = calloc(1, sizeof *p);
  int first[6] = {3, 1, 4, 5, 6, 2};
  memcpy(p->table, first, sizeof first);
  pthread_mutex_init(&p->lock, 0);
  sem_init(&p->semaphore, 0, 1);
  p->words[0] = 0;
  strcpy(p->words, "one two three");
  for (int i = 0; i < 2; i++) {
    p->number += i; p->now += 5; p->room[19999]++;
    CALLS
  }
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof *p; i++) sum = sum * 31 + ((unsigned char *)p)[i];
  printf("%d %s %d\n", p->number, p->words, (int)(sum & 0) + p->room[19999]);
  return 0;
}
