// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random steps on two files and a stretch of memory: mappings of all kinds, calls that change them or the
// files, loads, stores and jumps, whether they are allowed or not. What each step does is decided by the seed
// and its number alone, and what it finds is printed; so runs can be compared, and steps can be left out.
//
//   random SEED STEPS [STEP...]        steps to leave out
//   random fork SEED STEPS [STEP...]   from the middle on, two processes take turns
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 16, kFiles = 2, kFilePages = 8, kMappings = 8 };

static int may_fork; // it will, or has
static int forked;
static int is_child;
static int pipes[2][2]; // to the parent, to the child
static char* arena;     // kPages, with as many unmapped ones on both sides
static uint64_t state;

static uint64_t next_random(void) {
  uint64_t x = state += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

static unsigned below(unsigned limit) {
  return (unsigned)(next_random() % limit);
}

// What can be mapped of a file without being refused: rdb does not record what is written through one mapping
// and seen through another.
enum Regime { kOneShared, kPrivate, kRegimes };

struct File {
  int fd;        // for reading and writing
  int reading;   // for reading only
  char name[40]; // empty: it has none
  enum Regime regime;
};
static struct File files[kFiles];
static signed char shared_file[kPages]; // the file that may be mapped shared at this page, or one of these
enum { kNotShared = -1, kSharedWithoutFile = kFiles };

static sigjmp_buf back;
static struct {
  int signal, code;
  long address;
  unsigned error;
} fault;

static void on_fault(int number, siginfo_t* info, void* context) {
  fault.signal = number;
  fault.code = info->si_code;
  fault.address = (char*)info->si_addr - arena;
  // Whether it was a write or a fetch; that the page was there is the kernel's affair.
  fault.error = (unsigned)((ucontext_t*)context)->uc_mcontext.gregs[REG_ERR] & 0x12;
  siglongjmp(back, 1);
}

static char text[1 << 16];
static size_t text_size;

static void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  text_size += (size_t)vsnprintf(text + text_size, sizeof text - text_size, format, arguments);
  va_end(arguments);
}

static void flush(void) {
  if (write(1, text, text_size) != (ssize_t)text_size) _exit(9);
  text_size = 0;
}

static void say_result(const char* what, long result) {
  say(" %s %ld%s%s", what, result, result == -1 ? " " : "", result == -1 ? strerrorname_np(errno) : "");
}

static void say_fault(const char* what) {
  say(" %s: signal %d code %d at %#lx error %#x", what, fault.signal, fault.code, fault.address, fault.error);
}

struct Range {
  unsigned page, count;
};

static struct Range random_range(unsigned most) {
  unsigned count = 1 + below(most);
  return (struct Range){below(kPages - count + 1), count};
}

static char* at(struct Range range) {
  return arena + range.page * kPage;
}

static void set_shared(struct Range range, int file) {
  memset(shared_file + range.page, file, range.count);
}

static int random_protection(void) {
  static const int kChoice[] = {PROT_READ | PROT_WRITE,
                                PROT_READ | PROT_WRITE,
                                PROT_READ,
                                PROT_NONE,
                                PROT_WRITE,
                                PROT_READ | PROT_WRITE | PROT_EXEC,
                                PROT_READ | PROT_EXEC};
  return kChoice[below(sizeof kChoice / sizeof kChoice[0])];
}

static off_t random_place(void) {
  off_t page = below(kFilePages) * kPage;
  return below(3) == 0 ? page : page + (off_t)below(kPage);
}

static void map_file(struct Range range, int protection) {
  int number = (int)below(kFiles);
  struct File* file = &files[number];
  if (forked && file->regime == kOneShared) return; // each process would have a mapping of its own
  int flags = MAP_FIXED | MAP_PRIVATE;
  int fd = below(2) ? file->fd : file->reading;
  if (file->regime == kOneShared) {
    flags = MAP_FIXED | MAP_SHARED;
    fd = below(4) ? file->fd : file->reading;
    for (unsigned page = 0; page < kPages; ++page)
      if (shared_file[page] == number) {
        munmap(arena + page * kPage, kPage);
        shared_file[page] = kNotShared;
      }
  } else if (below(4) == 0) {
    flags = MAP_FIXED | MAP_SHARED;
    fd = file->reading;
  }
  void* result =
      mmap(at(range), range.count * kPage, protection, flags, fd, (off_t)below(kFilePages) * kPage);
  if (result != MAP_FAILED) set_shared(range, file->regime == kOneShared ? number : kNotShared);
  say_result(flags & MAP_SHARED ? "map shared file" : "map file", result == MAP_FAILED ? -1 : 0);
}

static void step_map(void) {
  struct Range range = random_range(6);
  int protection = random_protection();
  if (below(3)) {
    map_file(range, protection);
    return;
  }
  int flags = MAP_FIXED | MAP_ANONYMOUS | (below(3) ? MAP_PRIVATE : MAP_SHARED);
  void* result = mmap(at(range), range.count * kPage, protection, flags, -1, 0);
  if (result != MAP_FAILED) set_shared(range, flags & MAP_SHARED ? kSharedWithoutFile : kNotShared);
  say_result("map", result == MAP_FAILED ? -1 : 0);
}

static void step_unmap(void) {
  struct Range range = random_range(2);
  int result = munmap(at(range), range.count * kPage);
  if (result == 0) set_shared(range, kNotShared);
  say_result("unmap", result);
}

static void step_protect(void) {
  struct Range range = random_range(6);
  say_result("protect", mprotect(at(range), range.count * kPage, random_protection()));
}

static void step_advise(void) {
  static const int kChoice[] = {MADV_DONTNEED, MADV_DONTNEED, MADV_DONTNEED,      MADV_REMOVE,
                                MADV_WILLNEED, MADV_COLD,     MADV_POPULATE_READ, MADV_POPULATE_WRITE,
                                MADV_NORMAL,   MADV_DONTFORK, MADV_WIPEONFORK};
  struct Range range = random_range(6);
  int advice = kChoice[below(sizeof kChoice / sizeof kChoice[0])];
  if (forked && advice == MADV_REMOVE) return;
  int result = madvise(at(range), range.count * kPage, advice);
  char what[32];
  snprintf(what, sizeof what, "advise %d", advice);
  say_result(what, result);
}

static void step_remap(void) {
  if (forked) return; // memory that is shared is not moved
  struct Range from = random_range(4);
  struct Range to = random_range(6);
  signed char moved[kPages];
  memcpy(moved, shared_file + from.page, from.count);
  unsigned how = below(4);
  // What is mapped shared must not come to be mapped twice.
  for (unsigned i = 0; i < from.count; ++i)
    if (moved[i] != kNotShared && to.count > from.count) to.count = from.count;
  void* result;
  if (how == 0) { // in its place
    to.page = from.page;
    if (to.page + to.count > kPages) to.count = kPages - to.page;
    result = mremap(at(from), from.count * kPage, to.count * kPage, 0);
  } else {
    // Memory that is there twice afterwards is refused where it is shared.
    int keeps = how == 1;
    for (unsigned i = 0; i < from.count; ++i)
      keeps &= moved[i] == kNotShared;
    if (keeps) to.count = from.count;
    if (to.page + to.count > kPages) to.page = kPages - to.count;
    result = mremap(at(from), from.count * kPage, to.count * kPage,
                    MREMAP_MAYMOVE | MREMAP_FIXED | (keeps ? MREMAP_DONTUNMAP : 0), at(to));
  }
  say_result(how == 0 ? "resize" : "move", result == MAP_FAILED ? -1 : ((char*)result - arena) / kPage);
  if (result == MAP_FAILED) return;
  set_shared(from, kNotShared);
  for (unsigned i = 0; i < to.count; ++i) {
    signed char file = moved[i < from.count ? i : from.count - 1];
    // Where a hole was moved to, the kernel leaves what was there.
    if (file != kNotShared) shared_file[to.page + i] = file;
  }
}

static void step_truncate(void) {
  struct File* file = &files[below(kFiles)];
  off_t size = random_place();
  if (below(2) && file->name[0] != 0)
    say_result("truncate", truncate(file->name, size));
  else
    say_result("ftruncate", ftruncate(file->fd, size));
}

static void step_allocate(void) {
  static const int kChoice[] = {0,
                                FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_ZERO_RANGE,
                                FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_COLLAPSE_RANGE,
                                FALLOC_FL_INSERT_RANGE};
  int mode = kChoice[below(sizeof kChoice / sizeof kChoice[0])];
  off_t place = below(2) ? random_place() : (off_t)below(kFilePages) * kPage;
  off_t size = below(2) ? 1 + (off_t)below(2 * kPage) : (1 + (off_t)below(2)) * kPage;
  say_result("fallocate", fallocate(files[below(kFiles)].fd, mode, place, size));
}

static char buffer[3 * kPage];

static void fill_buffer(void) {
  for (size_t i = 0; i < sizeof buffer; i += 8) {
    uint64_t value = next_random();
    memcpy(buffer + i, &value, 8);
  }
}

// A place in the stretch, and as many bytes from there as a call or an instruction may use.
static char* random_bytes(size_t* size) {
  struct Range range = random_range(2);
  unsigned offset = below(4) ? below(kPage) : 0;
  *size = 1 + below(range.count * kPage - offset);
  if (below(3) == 0 && *size > 64) *size = 1 + below(64);
  return at(range) + offset;
}

static void step_write(void) {
  struct File* file = &files[below(kFiles)];
  off_t place = random_place();
  size_t size, second_size;
  char* from = random_bytes(&size);
  char* second = random_bytes(&second_size);
  fill_buffer();
  switch (below(5)) {
  case 0:
    say_result("pwrite from memory", pwrite(file->fd, from, size, place));
    break;
  case 1: {
    struct iovec vectors[2] = {{buffer, 1 + below(sizeof buffer)}, {second, second_size}};
    say_result("pwritev", pwritev(file->fd, vectors, 2, place));
    break;
  }
  case 2:
    lseek(file->fd, place, SEEK_SET);
    say_result("write", write(file->fd, buffer, 1 + below(sizeof buffer)));
    break;
  default:
    say_result("pwrite", pwrite(file->fd, buffer, 1 + below(sizeof buffer), place));
  }
}

static void step_read(void) {
  struct File* file = &files[below(kFiles)];
  off_t place = random_place();
  size_t size, second_size;
  char* to = random_bytes(&size);
  char* second = random_bytes(&second_size);
  switch (below(4)) {
  case 0: {
    struct iovec vectors[2] = {{to, size}, {second, second_size}};
    say_result("preadv", preadv(file->fd, vectors, 2, place));
    break;
  }
  case 1:
    lseek(file->fd, place, SEEK_SET);
    say_result("read", read(file->fd, to, size));
    break;
  case 2:
    say_result("getcwd", getcwd(to, size) == NULL ? -1 : 0);
    break;
  default:
    say_result("pread", pread(file->fd, to, size, place));
  }
}

static void step_copy(void) {
  int number = (int)below(kFiles);
  off_t from = random_place(), to = random_place();
  size_t size = 1 + below(2 * kPage);
  if (below(2)) {
    lseek(files[!number].fd, to, SEEK_SET);
    say_result("sendfile", sendfile(files[!number].fd, files[number].fd, &from, size));
  } else {
    say_result("copy", copy_file_range(files[number].fd, &from, files[!number].fd, &to, size, 0));
  }
}

static void step_store(void) {
  size_t size, from_size;
  char* to = random_bytes(&size);
  char* from = random_bytes(&from_size);
  uint64_t value = next_random();
  unsigned how = below(4);
  if (sigsetjmp(back, 1)) {
    say_fault("store");
    return;
  }
  switch (how) {
  case 0:
    asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
    break;
  case 1:
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    break;
  default: // may reach into the next page
    asm volatile("movq %1, (%0)" : : "r"(to), "r"(value) : "memory");
  }
  say(" store");
}

static void step_execute(void) {
  struct Range range = random_range(1);
  unsigned offset = below(3) ? below(kPage - 8) : kPage - 1 - below(6);
  unsigned char code[] = {0xB8, 0, 0, 0, 0, 0xC3}; // mov eax, number; ret
  unsigned number = below(1000);
  memcpy(code + 1, &number, sizeof number);
  char* function = at(range) + offset;
  unsigned how = below(3);
  if (sigsetjmp(back, 1)) {
    say_fault("execute");
    return;
  }
  if (how == 0) {
    memcpy(function, code, sizeof code);
  } else if (how == 1) {
    // What is there is executed only if it is what was put there.
    pwrite(files[below(kFiles)].fd, code, sizeof code, (off_t)below(kFilePages) * kPage + offset);
  }
  unsigned char there[6];
  for (size_t i = 0; i < sizeof there; ++i)
    there[i] = ((volatile unsigned char*)function)[i];
  if (there[0] == 0xB8 && there[5] == 0xC3)
    say(" execute %d", ((int (*)(void))function)());
  else
    say(" no function");
}

static void step_jump(void) {
  // To a page that cannot be executed, or is not there: what is there must not run.
  struct Range range = random_range(1);
  if (sigsetjmp(back, 1)) {
    say_fault("jump");
    return;
  }
  memset(at(range), 0xC3, kPage); // ret
  if (sigsetjmp(back, 1)) {
    say_fault("jump");
    return;
  }
  ((void (*)(void))(at(range) + below(kPage)))();
  say(" jumped");
}

static uint64_t hash_page(const volatile uint64_t* page) {
  uint64_t hash = 0;
  for (size_t i = 0; i < kPage / 8; ++i)
    hash = (hash + page[i]) * 0x9E3779B97F4A7C15ull ^ hash >> 29;
  return hash;
}

static void look_at_page(unsigned page) {
  if (sigsetjmp(back, 1)) {
    say(" %u:%s%d", page, fault.signal == SIGBUS ? "bus" : "segv", fault.code);
    return;
  }
  uint64_t hash = hash_page((uint64_t*)(arena + page * kPage));
  say(" %u:%04x", page, (unsigned)(hash >> 48 ^ (hash & 0xFFFF)));
}

static void look(void) {
  unsigned how = below(4);
  if (how == 0) {
    for (unsigned page = 0; page < kPages; ++page)
      look_at_page(page);
  } else {
    for (unsigned i = 0; i < 3; ++i)
      look_at_page(below(kPages));
  }
}

static void look_at_files(void) {
  for (unsigned i = 0; i < kFiles; ++i) {
    uint64_t hash = 0;
    for (off_t place = 0;; place += kPage) {
      memset(buffer, 0, kPage);
      ssize_t size = pread(files[i].fd, buffer, kPage, place);
      if (size <= 0) break;
      hash = hash * 31 + hash_page((uint64_t*)buffer) + (uint64_t)size;
    }
    say(" file %u: %016lx", i, (unsigned long)hash);
  }
}

static void (*const kSteps[])(void) = {
    step_map,   step_map,   step_map,      step_unmap, step_protect, step_protect,  step_advise, step_advise,
    step_remap, step_remap, step_truncate, step_write, step_write,   step_read,     step_read,   step_store,
    step_store, step_store, step_execute,  step_copy,  step_jump,    step_allocate,
};

static void set_up(uint64_t seed) {
  state = seed;
  // Memory with nothing beside it that the steps could reach.
  arena = mmap(NULL, 3 * kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) _exit(8);
  arena += kPages * kPage;
  mprotect(arena, kPages * kPage, PROT_READ | PROT_WRITE);
  memset(shared_file, kNotShared, sizeof shared_file);
  for (int i = 0; i < kFiles; ++i) {
    struct File* file = &files[i];
    file->regime = (enum Regime)below(kRegimes);
    if (may_fork && i == 0) file->regime = kOneShared; // the other one is sometimes mapped private
    char path[64];
    if (below(2)) {
      strcpy(file->name, "random-XXXXXX");
      file->fd = mkstemp(file->name);
      strcpy(path, file->name);
    } else {
      file->fd = memfd_create("random", 0);
      snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    }
    file->reading = open(path, O_RDONLY);
    if (file->fd < 0 || file->reading < 0 || ftruncate(file->fd, random_place()) != 0) _exit(8);
  }
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

static void fork_partner(void) {
  if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) _exit(8);
  forked = 1;
  is_child = fork() == 0;
  // So that each finds out if the other one is no more.
  close(pipes[is_child][1]);
  close(pipes[!is_child][0]);
}

static void await(void) {
  char byte;
  if (read(pipes[is_child][0], &byte, 1) != 1) _exit(7);
}

static void pass_on(void) {
  if (write(pipes[!is_child][1], "x", 1) != 1) _exit(7);
}

static void run_step(int number) {
  say("%d%s:", number, is_child ? " child" : "");
  unsigned choice = below(sizeof kSteps / sizeof kSteps[0]);
  (number < kMappings ? step_map : kSteps[choice])(); // something must be there first
  look();
  if (below(4) == 0) look_at_files();
  say("\n");
  flush();
}

// One process does the step, and the other looks.
static void run_step_of_two(int number) {
  if (number % 2 == is_child) {
    run_step(number);
    pass_on();
    await();
  } else {
    await();
    say("%d%s looks:", number, is_child ? " child" : "");
    look();
    say("\n");
    flush();
    pass_on();
  }
}

int main(int argc, char** argv) {
  may_fork = argc > 1 && strcmp(argv[1], "fork") == 0;
  argc -= may_fork;
  argv += may_fork;
  if (argc < 3) return 2;
  uint64_t seed = strtoull(argv[1], NULL, 10);
  int steps = atoi(argv[2]);
  set_up(seed);
  for (volatile int i = 0; i < steps; ++i) {
    if (may_fork && i == kMappings + 4) fork_partner();
    int left_out = 0;
    for (int k = 3; k < argc; ++k)
      left_out |= atoi(argv[k]) == i;
    if (left_out) continue;
    state = (seed << 20) + (uint64_t)i;
    (forked ? run_step_of_two : run_step)(i);
  }
  if (is_child) return 0;
  if (forked) wait(NULL);
  for (int i = 0; i < kFiles; ++i)
    if (files[i].name[0] != 0) unlink(files[i].name);
  return 0;
}
