// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that write to standard output and error all at once, by every call that can: short lines and pieces
// larger than a pipe, while others fork and move descriptors about. What comes out when is the kernel's.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 6, kLines = 60, kLarge = 9000 };
static int source; // a file with a line in it
static int copies[2];

// A file that is full, or not of the right kind: then nothing appears.
static void may_fail(ssize_t result) {
  if (result < 0 && errno != EAGAIN && errno != ENOTSOCK && errno != EINVAL) exit(9);
}

static void put(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) exit(9);
    bytes += n;
    size -= (size_t)n;
  }
}

static void one_line(int thread, int line) {
  char text[80];
  int size = snprintf(text, sizeof text, "thread %d line %d\n", thread, line);
  static _Thread_local char large[kLarge];
  struct iovec parts[2] = {{text, 7}, {text + 7, (size_t)size - 7}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  struct mmsghdr messages[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
  off_t from = 0;
  switch ((thread + line) % 8) {
  case 0:
    may_fail(writev(1, parts, 2));
    return;
  case 1:
    put(2, text, (size_t)size);
    return;
  case 2:
    memset(large, 'a' + thread, sizeof large - 1);
    large[sizeof large - 1] = '\n';
    put(1, large, sizeof large);
    return;
  case 3:
    may_fail(sendmsg(1, &message, 0));
    may_fail(sendmmsg(1, messages, 2, 0));
    return;
  case 4:
    may_fail(sendfile(1, source, &from, 100));
    return;
  case 5:
    put(copies[line % 2], text, (size_t)size);
    return;
  default:
    put(1, text, (size_t)size);
  }
}

static void* writer(void* arg) {
  int thread = (int)(long)arg;
  for (int line = 0; line < kLines; ++line)
    one_line(thread, line);
  return NULL;
}

static void* forker(void* arg) {
  for (int i = 0; i < 8; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
  return arg;
}

// What goes to copies[1] in the meantime is seen, or is not.
static void* mover(void* arg) {
  int null = open("/dev/null", O_WRONLY);
  for (int i = 0; i < 40; ++i) {
    dup2(null, copies[1]);
    dup2(1, copies[1]);
  }
  return arg;
}

int main(int argc, char** argv) {
  char name[] = "/tmp/rdb_output.XXXXXX";
  source = mkstemp(name);
  unlink(name);
  put(source, "from a file\n", 12);
  copies[0] = dup(1);
  copies[1] = dup(1);
  if (argc > 1 && strcmp(argv[1], "nonblocking") == 0) fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
  fcntl(1, F_SETPIPE_SZ, 4096); // so that writers have to wait; other files have no such size
  pthread_t threads[kThreads + 2];
  for (long i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, writer, (void*)i);
  pthread_create(&threads[kThreads], NULL, forker, NULL);
  pthread_create(&threads[kThreads + 1], NULL, mover, NULL);
  for (int i = 0; i < kThreads + 2; ++i)
    pthread_join(threads[i], NULL);
  return 0;
}
