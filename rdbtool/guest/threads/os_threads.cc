// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/os_threads.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <climits>
#include <linux/futex.h>
#include <malloc.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

constexpr size_t kStackSize = 1 << 20;

void set_word(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value);
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAKE_PRIVATE, INT_MAX);
}

void wait_for_word(std::atomic<uint32_t>& word) {
  while (word.load() == 0)
    raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAIT_PRIVATE, 0);
}

} // namespace

thread_local OsThreads::Os* OsThreads::self_ = nullptr;

void* OsThreads::entry(void* argument) {
  auto* os = static_cast<Os*>(argument);
  self_ = os;
  SignalStack stack;
  set_word(os->id, static_cast<uint32_t>(raw_syscall(SYS_gettid)));
  wait_for_word(os->assigned);
  os->owner->body_(*os->thread);
  // Nothing may come in any more: the stack for handlers goes away.
  uint64_t all = ~0ull;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&all), 0, 8);
  return nullptr;
}

int64_t OsThreads::create() {
  collect();
  // One thread at a time: one heap is enough, and others would take address space.
  if (all_.empty()) mallopt(M_ARENA_MAX, 1);
  Os& os = all_.emplace_back();
  os.owner = this;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  // A new thread starts with everything blocked, and opens up when it has its first turn.
  uint64_t all = ~kSynchronousSignals;
  uint64_t old;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&all),
              reinterpret_cast<int64_t>(&old), 8);
  int error = pthread_create(&os.handle, &attributes, entry, &os);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&old), 0, 8);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    all_.pop_back();
    return -error;
  }
  wait_for_word(os.id);
  return os.id;
}

void OsThreads::assign(Thread& thread) {
  all_.back().thread = &thread;
  set_word(all_.back().assigned, 1);
}

void OsThreads::finishing() {
  if (self_ != nullptr) self_->finishing = true;
}

void OsThreads::collect() {
  for (auto os = all_.begin(); os != all_.end();) {
    if (os->finishing && &*os != self_) {
      pthread_join(os->handle, nullptr);
      os = all_.erase(os);
    } else {
      ++os;
    }
  }
}

void OsThreads::join_all() {
  for (Os& os : all_)
    if (&os != self_) pthread_join(os.handle, nullptr);
  all_.clear();
}

void OsThreads::forget_all() {
  // The calling thread goes on using its own entry.
  std::erase_if(all_, [](const Os& os) { return &os != self_; });
}

bool OsThreads::is_first() {
  return self_ == nullptr;
}

} // namespace rdb::guest
