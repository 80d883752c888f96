#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    void *library = dlopen("./libplugin.so", RTLD_NOW);
    int (*work)(int) = (int (*)(int))dlsym(library, "work");
    sum += work(i) + work(10 + i);
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    char *begin = (char *)map->l_addr;
    dlclose(library);
    if (i == 1) continue; // perhaps at the same place
    if (mmap(begin, 1 << 14, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != begin) return 99;
  }
  printf("%d\n", sum);
  return 0;
}
