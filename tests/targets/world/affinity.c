// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CPUs that threads and children may use are what they asked for, whatever rdb does with its own.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t first_set;

static int first_cpu(const cpu_set_t* set) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, set)) return cpu;
  return -1;
}

static void* body(void* arg) {
  cpu_set_t own, one;
  sched_getaffinity(0, sizeof own, &own);
  int inherited = CPU_EQUAL(&own, &first_set);
  CPU_ZERO(&one);
  CPU_SET(arg == NULL ? first_cpu(&own) : (int)(long)arg, &one);
  int result = pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  pthread_getaffinity_np(pthread_self(), sizeof own, &own);
  int cpu = sched_getcpu();
  static char text[100];
  snprintf(text, sizeof text, "inherited %d set %d equal %d on it %d", inherited, result,
           CPU_EQUAL(&own, &one) != 0, CPU_ISSET(cpu, &own) != 0);
  return text;
}

int main(void) {
  sched_getaffinity(0, sizeof first_set, &first_set);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &first_set)) last = cpu;
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    void* text;
    pthread_create(&thread, NULL, body, i == 0 ? NULL : (void*)(long)last);
    pthread_join(thread, &text);
    printf("%s\n", (char*)text);
  }
  cpu_set_t own;
  sched_getaffinity(getpid(), sizeof own, &own);
  printf("main keeps its own %d\n", CPU_EQUAL(&own, &first_set) != 0);
  cpu_set_t none;
  CPU_ZERO(&none);
  int result = sched_setaffinity(0, sizeof none, &none);
  printf("none at all %d %d\n", result, errno == EINVAL);
  pid_t pid = fork();
  if (pid == 0) {
    sched_getaffinity(0, sizeof own, &own);
    _exit(CPU_EQUAL(&own, &first_set) ? 7 : 8);
  }
  int status;
  waitpid(pid, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  return 0;
}
