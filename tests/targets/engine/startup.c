// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program finds at its start: arguments, environment, auxiliary vector, its own name and mappings.
// Prints only what must be the same under rdb, and "vdso" if there is one (natively yes, in rdb never).
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char** environ;
extern const char __executable_start[], etext[], edata[], end[];
extern void _start(void);

static const ElfW(auxv_t) * auxiliary_vector(void) {
  char** p = environ;
  while (*p != NULL)
    p++;
  return (const ElfW(auxv_t)*)(p + 1);
}

// The kernel's order on the stack: argc, argv, 0, envp, 0, auxv, then the strings, then the name of the
// executable.
static void check_order(char** argv, const char* execfn) {
  const char* last_env = NULL;
  for (char** e = environ; *e != NULL; e++)
    last_env = *e;
  printf("order: %s %s %s\n", (char*)argv < (char*)environ ? "argv below envp" : "WRONG",
         (char*)auxiliary_vector() < argv[0] ? "auxv below strings" : "WRONG",
         last_env == NULL || last_env < execfn ? "execfn last" : "WRONG");
}

static void check_maps(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  const void* stack_word = &maps;
  int code = 0, data = 0, stack = 0, heap = 0, previous_ok = 1, here = 0;
  unsigned long before = 0;
  void* block = malloc(10);
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, to;
    char mode[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3) printf("unreadable: %s", line);
    if (from < before) previous_ok = 0;
    before = to;
#define IN(p) ((unsigned long)(p) >= from && (unsigned long)(p) < to)
    if (IN(check_maps) && mode[0] == 'r' && mode[2] == 'x') code++;
    if (IN(&environ) && mode[1] == 'w') data++;
    if (IN(stack_word) && mode[1] == 'w' && strstr(line, "[stack]") != NULL) stack++;
    if (IN(block) && mode[1] == 'w') heap++;
    if (strstr(line, "engine/startup") != NULL) here++;
  }
  fclose(maps);
  free(block);
  printf("maps: code %d data %d stack %d heap %d in order %d own name %s\n", code, data, stack, heap,
         previous_ok, here > 1 ? "there" : "MISSING");
}

int main(int argc, char** argv) {
  printf("argc %d\n", argc);
  for (int i = 1; i < argc; i++)
    printf("argv[%d] %s\n", i, argv[i]);
  int variables = 0;
  for (char** e = environ; *e != NULL; e++) {
    variables++;
    printf("env %s\n", *e);
  }
  printf("variables %d, USER_DEFINED=%s\n", variables, getenv("USER_DEFINED"));

  const ElfW(Ehdr)* header = (const ElfW(Ehdr)*)__executable_start;
  unsigned seen = 0;
  for (const ElfW(auxv_t)* a = auxiliary_vector(); a->a_type != AT_NULL; a++) {
    unsigned long v = a->a_un.a_val;
    if (a->a_type < 32) {
      if (seen & 1u << a->a_type) printf("auxv %lu TWICE\n", a->a_type);
      seen |= 1u << a->a_type;
    }
    switch (a->a_type) {
    case AT_PHDR:
      printf("AT_PHDR %s\n", v == (unsigned long)__executable_start + header->e_phoff ? "exact" : "WRONG");
      break;
    case AT_PHENT:
      printf("AT_PHENT %lu\n", v);
      break;
    case AT_PHNUM:
      printf("AT_PHNUM %s\n", v == header->e_phnum ? "exact" : "WRONG");
      break;
    case AT_ENTRY:
      printf("AT_ENTRY %s\n", v == (unsigned long)_start ? "exact" : "WRONG");
      break;
    case AT_PAGESZ:
      printf("AT_PAGESZ %lu\n", v);
      break;
    case AT_CLKTCK:
      printf("AT_CLKTCK %lu\n", v);
      break;
    case AT_FLAGS:
      printf("AT_FLAGS %lu\n", v);
      break;
    case AT_UID:
      printf("AT_UID %s\n", v == getuid() ? "exact" : "WRONG");
      break;
    case AT_EUID:
      printf("AT_EUID %s\n", v == geteuid() ? "exact" : "WRONG");
      break;
    case AT_GID:
      printf("AT_GID %s\n", v == getgid() ? "exact" : "WRONG");
      break;
    case AT_EGID:
      printf("AT_EGID %s\n", v == getegid() ? "exact" : "WRONG");
      break;
    case AT_SECURE:
      printf("AT_SECURE %lu\n", v);
      break;
    case AT_RANDOM: {
      const unsigned char* bytes = (const unsigned char*)v;
      int differ = 0;
      for (int i = 1; i < 16; i++)
        differ |= bytes[i] != bytes[0];
      printf("AT_RANDOM %s\n", differ ? "random" : "CONSTANT");
      if (getenv("SHOW_RANDOM") != NULL)
        for (int i = 0; i < 16; i++)
          fprintf(stderr, "%02x%s", bytes[i], i == 15 ? "\n" : "");
      break;
    }
    case AT_EXECFN:
      printf("AT_EXECFN %s\n", (const char*)v);
      check_order(argv, (const char*)v);
      break;
    case AT_PLATFORM:
      printf("AT_PLATFORM %s\n", (const char*)v);
      break;
    case AT_BASE:
      printf("AT_BASE %s\n", v == 0 ? "none" : v % 4096 == 0 ? "aligned" : "WRONG");
      break;
    case AT_SYSINFO_EHDR:
      fprintf(stderr, "vdso\n");
      break;
    default:
      break;
    }
  }
  char path[4096], execfn[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  if (realpath((const char*)getauxval(AT_EXECFN), execfn) == NULL) execfn[0] = 0;
  printf("exe %s\n", strcmp(path, execfn) == 0 ? "is execfn" : path);
  printf("invocation %s\n", program_invocation_short_name);
  unsigned char own[4];
  int fd = open("/proc/self/exe", O_RDONLY);
  length = read(fd, own, 4);
  printf("exe begins %zd %d\n", length, memcmp(own, "\177ELF", 4));
  close(fd);
  fd = open("/proc/self/cmdline", O_RDONLY);
  length = read(fd, path, sizeof path);
  close(fd);
  printf("cmdline");
  for (ssize_t i = 0; i < length; i += (ssize_t)strlen(path + i) + 1)
    printf(" %s", path + i);
  printf("\n");
  check_maps();
  unsigned long rsp;
  asm("mov %%rsp, %0" : "=r"(rsp));
  printf("aligned %lu, first descriptor %d\n", rsp % 16, dup(0));
  return 0;
}
