// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host stacks for guest threads that all live in one OS thread. A switch is a change of stacks; what each
// thread was doing in the host stays on its own.
#pragma once

#include "rdbtool/guest/threads/thread.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace rdb::guest {

class Fibers {
public:
  // `body` runs on every new stack. It must not return: it leaves by switch_to() or switch_to_first().
  explicit Fibers(std::function<void(Thread&)> body) : body_(std::move(body)) {}
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // The stack of the caller is this thread's.
  void adopt(Thread& first);
  // A new stack, on which `body` begins when the thread is first switched to.
  void create(Thread& thread);
  // Goes on where the thread was; returns when someone switches back.
  void switch_to(const Thread& thread);
  // To the stack on which the process began, whosever it was.
  void switch_to_first();
  // The thread will not come back. Its stack may still be in use until the next switch.
  void forget(const Thread& thread);
  // In the child of a fork.
  void keep_only(const Thread& thread);

private:
  struct Fiber {
    Fibers* owner = nullptr;
    Thread* thread = nullptr;
    void* stack = nullptr; // null: the OS thread's own
    void* pointer = nullptr;
    ~Fiber();
  };
  static void begin(Fiber* fiber);
  void change(Fiber& to);

  std::function<void(Thread&)> body_;
  std::map<const Thread*, std::unique_ptr<Fiber>> fibers_;
  std::vector<std::unique_ptr<Fiber>> forgotten_;
  Fiber* first_ = nullptr;
  Fiber* current_ = nullptr;
};

} // namespace rdb::guest
