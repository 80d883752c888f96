// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// parallel_bzip2 THREADS FILE: compresses the file with libbz2, a piece for each thread at a time, and writes
// the results in order. A program with threads to be built with ThreadSanitizer, together with libbz2.
#include <bzlib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPiece = 200000, kMost = kPiece + kPiece / 100 + 600 };

struct Piece {
  char* plain;
  unsigned plain_size;
  char packed[kMost];
  unsigned size; // 0 until it is done
};

static struct Piece* pieces;
static int count, begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void* compress(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    int mine = begun < count ? begun++ : -1;
    pthread_mutex_unlock(&mutex);
    if (mine < 0) return unused;
    struct Piece* piece = &pieces[mine];
    unsigned size = kMost;
    if (BZ2_bzBuffToBuffCompress(piece->packed, &size, piece->plain, piece->plain_size, 9, 0, 0) != BZ_OK)
      abort();
    pthread_mutex_lock(&mutex);
    piece->size = size;
    pthread_cond_broadcast(&done);
    pthread_mutex_unlock(&mutex);
  }
}

int main(int argc, char** argv) {
  FILE* file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (file == NULL) return 2;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char* text = malloc((size_t)size);
  if (fread(text, 1, (size_t)size, file) != (size_t)size) return 3;
  count = (int)((size + kPiece - 1) / kPiece);
  pieces = calloc((size_t)count, sizeof *pieces);
  for (int i = 0; i < count; ++i) {
    pieces[i].plain = text + (long)i * kPiece;
    pieces[i].plain_size = (unsigned)(i + 1 < count ? kPiece : size - (long)i * kPiece);
  }
  int threads = atoi(argv[1]);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, compress, NULL) != 0) return 4;
    pthread_detach(thread);
  }
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    while (pieces[i].size == 0)
      pthread_cond_wait(&done, &mutex);
    pthread_mutex_unlock(&mutex);
    fwrite(pieces[i].packed, 1, pieces[i].size, stdout);
  }
  free(pieces);
  free(text);
  return 0;
}
