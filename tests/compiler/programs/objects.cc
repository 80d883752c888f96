// Classes, templates, lambdas, virtual calls, exceptions, references, thread_local, iostream.
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <rdb/rdb.h>

struct Shape {
  int id;
  explicit Shape(int i) : id(i) {}
  virtual ~Shape() {}
  virtual int area() const { return 0; }
};

struct Box : Shape {
  int w, h;
  Box(int i, int a, int b) : Shape(i), w(a), h(b) {
    rdb_begin
    std::cout << "box " << id << " " << w << "x" << h << "\n";
    rdb_end
  }
  int area() const override {
    rdb_begin
    std::cout << "area of " << id << " w=" << w << "\n";
    rdb_end
    return w * h;
  }
};

template <class T> T biggest(const std::vector<T> &v) {
  T best = v[0];
  for (const T &x : v) {
    if (best < x) best = x;
    rdb_begin
    std::cout << "biggest x=" << x << " best=" << best << "\n";
    rdb_end
  }
  return best;
}

thread_local int depth;

int descend(int n) {
  depth++;
  int below = n > 0 ? descend(n - 1) : 0;
  rdb_begin
  std::cout << "descend n=" << n << " depth=" << depth << " below=" << below << "\n";
  rdb_end
  depth--;
  return below + 1;
}

int guarded(int n) {
  std::string name = "n" + std::to_string(n);
  try {
    if (n > 1) throw std::runtime_error(name);
    rdb_begin
    std::string copy = name + "!";
    try {
      if (copy.size() > 1) throw copy;
    } catch (const std::string &caught) {
      std::cout << "caught inside " << caught << "\n";
    }
    rdb_end
  } catch (const std::exception &e) {
    rdb_begin
    std::cout << "handler " << e.what() << " " << name << "\n";
    rdb_end
    return -1;
  }
  return n;
}

constexpr int square(int n) {
  int r = n * n;
  return r;
}

int main(int argc, char **argv) {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 3; i++) shapes.push_back(std::make_unique<Box>(i, i + 1, square(i)));
  int total = argc;
  for (auto &shape : shapes) {
    total += shape->area();
    rdb_begin
    std::cout << "shape " << shape->id << " area " << shape->area() << "\n";
    rdb_end
  }
  std::map<std::string, int> words{{"a", 1}, {"b", 2}};
  auto add = [&](const std::string &key, int n) {
    words[key] += n;
    rdb_begin
    std::cout << "add " << key << " " << n << "\n";
    rdb_end
    return words.size();
  };
  total += static_cast<int>(add("a", 5) + add("c", 6));
  total += biggest(std::vector<int>{3, 9, 2}) + static_cast<int>(biggest(std::vector<double>{1.5, 0.5}));
  total += descend(2) + guarded(1) + guarded(2);
  auto [first, second] = std::pair<int, std::string>(4, "four");
  rdb_begin
  std::cout << "end " << total << " " << first << " " << second << " " << words["a"] << "\n";
  rdb_end
  std::cout << total << " " << argv[0][0] << "\n";
}
