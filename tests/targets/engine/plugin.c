// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared object that dlopen.c loads; compiled several times with another PLUGIN_ID and the same layout,
// so that different code appears at the same address.
#include <stdio.h>
#include <stdlib.h>

static int g_calls;

__attribute__((constructor)) static void loaded(void) {
  g_calls = PLUGIN_ID;
}

int plugin_id(void) {
  return PLUGIN_ID * 1000 + g_calls++;
}

int plugin_work(int (*callback)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += callback(i ^ PLUGIN_ID) + abs(i - PLUGIN_ID);
  return sum;
}
