// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The OS threads behind the guest's threads. Each guest thread has one of its own, for the kernel's sake:
// its number, its signals, its blocking calls.
#pragma once

#include "rdbtool/guest/threads/thread.h"

#include <atomic>
#include <functional>
#include <list>
#include <pthread.h>

namespace rdb::guest {

class OsThreads {
public:
  // `body` runs in every new OS thread, once its guest thread is known.
  explicit OsThreads(std::function<void(Thread&)> body) : body_(std::move(body)) {}

  // Makes an OS thread, which waits for assign(). Its number, or -errno.
  int64_t create();
  // The guest thread that the one made last is for.
  void assign(Thread& thread);
  // Collects those that have left `body`; those that are about to (finishing()) are waited for.
  void collect();
  // Waits for all.
  void join_all();
  // To be called by an OS thread that will soon leave `body`, under the baton.
  static void finishing();
  // In the child of a fork there are no others, and this may not be the process' first.
  void forget_all();
  // Is the calling thread the one that the process began with (not one made here)?
  static bool is_first();

private:
  struct Os {
    OsThreads* owner = nullptr;
    pthread_t handle = {};
    std::atomic<uint32_t> id = 0;
    std::atomic<uint32_t> assigned = 0;
    Thread* thread = nullptr;
    bool finishing = false;
  };
  static void* entry(void* os);

  static thread_local Os* self_;
  std::function<void(Thread&)> body_;
  std::list<Os> all_;
};

} // namespace rdb::guest
