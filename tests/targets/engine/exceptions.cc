// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C++ exceptions: the unwinder walks return addresses on the guest's stack and jumps into landing pads, so
// both must be the addresses that the compiler gave, whatever was executed instead.
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int g_destroyed = 0;

struct Counted {
  int id;
  explicit Counted(int i) : id(i) {}
  ~Counted() { g_destroyed += id; }
};

struct Base {
  virtual ~Base() = default;
  virtual int throw_at(int depth) = 0;
};

struct Recursive : Base {
  int throw_at(int depth) override {
    Counted c(1);
    if (depth == 0) throw std::runtime_error("bottom");
    return throw_at(depth - 1) + c.id;
  }
};

struct Rethrowing : Base {
  int throw_at(int depth) override {
    Counted c(100);
    try {
      if (depth == 0) throw std::out_of_range("range");
      return throw_at(depth - 1) + c.id;
    } catch (std::exception&) {
      throw;
    }
  }
};

struct Other : Base {
  int throw_at(int depth) override {
    if (depth > 0) {
      try {
        return throw_at(depth - 1);
      } catch (int v) {
        throw v + 1;
      }
    }
    throw 0;
  }
};

int catches(Base& b, int depth) {
  try {
    return b.throw_at(depth);
  } catch (const std::out_of_range& e) {
    std::printf("out_of_range %s\n", e.what());
  } catch (const std::runtime_error& e) {
    std::printf("runtime_error %s\n", e.what());
  } catch (int v) {
    std::printf("int %d\n", v);
  }
  return -1;
}

int nested_in_destructor() {
  struct Catching {
    ~Catching() {
      try {
        throw 7;
      } catch (int v) {
        std::printf("destructor caught %d, %d in flight\n", v, std::uncaught_exceptions());
      }
    }
  };
  try {
    Catching c;
    throw std::string("outer");
  } catch (const std::string& s) {
    std::printf("%s\n", s.c_str());
    return 1;
  }
}

void through_callbacks() {
  std::vector<std::function<void(int)>> calls;
  for (int i = 0; i < 5; i++)
    calls.push_back([i](int n) {
      if (n == i) throw i * 11;
    });
  int sum = 0;
  for (int n = 0; n < 7; n++) {
    try {
      for (auto& c : calls)
        c(n);
    } catch (int v) {
      sum += v + 1;
    }
  }
  std::printf("callbacks %d\n", sum);
}

} // namespace

int main() {
  Recursive recursive;
  Rethrowing rethrowing;
  Other other;
  for (int depth : {0, 1, 10, 40}) {
    g_destroyed = 0;
    catches(recursive, depth);
    catches(rethrowing, depth);
    catches(other, depth);
    std::printf("depth %d destroyed %d\n", depth, g_destroyed);
  }
  nested_in_destructor();
  through_callbacks();

  std::exception_ptr kept;
  try {
    std::vector<int>().at(3);
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::exception& e) {
    std::printf("kept %s\n", e.what());
  }

  long sum = 0;
  for (int i = 0; i < 100; i++) {
    try {
      if (i % 3 == 0) throw i;
      if (i % 3 == 1) throw std::make_unique<Counted>(i);
      sum += 1;
    } catch (int v) {
      sum += v;
    } catch (const std::unique_ptr<Counted>& p) {
      sum -= p->id;
    }
  }
  std::printf("sum %ld\n", sum);

  std::set_terminate([] {
    std::printf("terminate\n");
    std::fflush(stdout);
    std::_Exit(3);
  });
  []() noexcept { throw 1; }();
}
