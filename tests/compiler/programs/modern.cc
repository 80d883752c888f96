// C++20: ranges, concepts, structured bindings, a coroutine.
#include <rdb/rdb.h>
#include <array>
#include <coroutine>
#include <cstdio>
#include <optional>
#include <ranges>
#include <tuple>
struct Generator {
  struct promise_type {
    int current = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) {
      current = value;
      rdb_begin
        std::printf("yield %d\n", value);
      rdb_end
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
  std::optional<int> next() {
    handle.resume();
    if (handle.done()) return std::nullopt;
    return handle.promise().current;
  }
};
static Generator numbers(int n) {
  for (int i = 0; i < n; i++) co_yield i * i;
}
template <std::integral T>
static T half(T value) {
  auto [low, high] = std::tuple(value / 2, value - value / 2);
  rdb_begin
    std::printf("low=%d high=%d\n", (int)low, (int)high);
  rdb_end
  return low + (high > low);
}
int main() {
  int total = 0;
  for (int v : std::views::iota(1, 6) | std::views::filter([](int x) { return x % 2; })) {
    total += half(v);
    rdb_begin
      std::printf("v=%d total=%d\n", v, total);
    rdb_end
  }
  Generator g = numbers(3);
  while (auto n = g.next()) total += *n;
  g.handle.destroy();
  std::printf("%d\n", total);
  return 0;
}
