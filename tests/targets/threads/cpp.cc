// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of the C++ library.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

std::atomic<int> destroyed;
struct Counted {
  int value = 0;
  ~Counted() { ++destroyed; }
};
thread_local Counted counted;

long sum(int from, int to) {
  long result = 0;
  for (int i = from; i < to; ++i)
    result += i;
  return result;
}

} // namespace

int main() {
  std::vector<std::future<long>> parts;
  for (int i = 0; i < 8; ++i)
    parts.push_back(std::async(std::launch::async, sum, i * 1000, (i + 1) * 1000));
  long total = 0;
  for (auto& part : parts)
    total += part.get();
  std::printf("async %ld\n", total);

  auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); });
  try {
    failing.get();
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
  }

  std::latch ready(4);
  std::barrier step(4);
  std::counting_semaphore<4> places(2);
  std::shared_mutex shared;
  std::mutex mutex;
  long guarded = 0;
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      counted.value = 1;
      ready.arrive_and_wait();
      for (int round = 0; round < 100; ++round) {
        places.acquire();
        int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        --inside;
        places.release();
        {
          std::unique_lock lock(shared);
          ++guarded;
        }
        {
          std::shared_lock lock(shared);
          std::this_thread::yield();
        }
        step.arrive_and_wait();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  std::printf("guarded %ld, at most 2 inside: %d, destroyed %d\n", guarded, most <= 2, destroyed.load());

  std::condition_variable_any changed;
  std::jthread waiter([&](std::stop_token stop) {
    std::unique_lock lock(mutex);
    bool met = changed.wait(lock, stop, [] { return false; });
    std::printf("stopped: %d\n", met);
  });
  waiter.request_stop();
  waiter.join();

  std::atomic<int> word = 0;
  std::thread notifier([&] {
    word = 1;
    word.notify_one();
  });
  word.wait(0);
  notifier.join();
  std::condition_variable_any timed;
  std::unique_lock lock(mutex);
  bool late = timed.wait_for(lock, std::chrono::milliseconds(2)) == std::cv_status::timeout;
  std::printf("word %d, late %d\n", word.load(), late);
}
