#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>
struct all {
  int number;
  struct addrinfo *address;
  regex_t pattern;
  void *tree;
  char words[20], state[64], room[20000];
};
int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
__attribute__((noinline)) void bump(struct all *p) { p->number++; }
rdb_begin_globals
static void by_wide_list(const wchar_t *format, ...) {
  wchar_t own[20];
  va_list list;
  va_start(list, format);
  vswprintf(own, 20, format, list);
  va_end(list);
}
static void by_list(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vdprintf(1, format, list);
  va_end(list);
}
static void read_options(char **words, struct option *options) {
  int *next = &optind;
  *next = 0;
  getopt_long(2, words, "", options, 0);
}
static struct random_data kept_data;
static int own_order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
rdb_end_globals
FUNCTIONS
int main(void) {
  struct all *p = calloc(1, sizeof *p);
  strcpy(p->words, "one two");
  memset(p->state, 7, sizeof p->state);
  memset(p->room, 7, sizeof p->room);
  tsearch("b", &p->tree, order);
  p->address = calloc(1, sizeof *p->address);
  if (regcomp(&p->pattern, "a.b", REG_EXTENDED)) return 1;
  for (int i = 0; i < 2; i++) {
    p->number = 7;
    CALLS
  }
  printf("%d %d\n", p->number, regexec(&p->pattern, "acb", 0, 0, 0));
  return 0;
}
