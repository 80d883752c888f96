// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dlopen and dlclose in turn: other code comes to lie where translated code was, so stale translations show.
// Arguments: the number of rounds, then the plugins.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int triple(int v) {
  return 3 * v;
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 0;
  if (argc < 3) return 2;
  long sum = 0;
  for (int round = 0; round < rounds; round++) {
    const char* path = argv[2 + round % (argc - 2)];
    void* handle = dlopen(path, round % 2 ? RTLD_NOW : RTLD_LAZY);
    if (handle == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    int (*id)(void) = (int (*)(void))dlsym(handle, "plugin_id");
    int (*work)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(handle, "plugin_work");
    if (round < 6) printf("round %d: id %d then %d, work %d\n", round, id(), id(), work(triple, 10));
    for (int i = 0; i < 20; i++)
      sum += id() + work(triple, i);
    dlclose(handle);
  }
  printf("sum %ld\n", sum);
  return dlopen("/nonexistent.so", RTLD_NOW) != NULL;
}
