#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Sq : Shape {
  double s;
  Sq(double x) : s(x) {}
  double area() const override {
    if (s > 40) throw std::runtime_error("big");
    return s * s;
  }
};
struct Ci : Shape {
  double r;
  Ci(double x) : r(x) {}
  double area() const override { return 3.14 * r * r; }
};
__attribute__((noinline)) double total(const std::vector<std::unique_ptr<Shape>>& v) {
  double t = 0;
  for (auto& s : v) {
    try {
      t += s->area();
    } catch (const std::exception& e) {
      t += std::string(e.what()).size();
    }
  }
  return t;
}
__attribute__((noinline)) std::map<std::string, int> count(const std::string& text) {
  std::map<std::string, int> m;
  std::istringstream in(text);
  std::string w;
  while (in >> w)
    ++m[w];
  return m;
}
__attribute__((noinline)) long apply(const std::function<long(long)>& f, long n) {
  long r = 0;
  for (long i = 0; i < n; i++)
    r += f(i);
  return r;
}
int main() {
  std::unordered_map<int, std::string> u;
  double t = 0;
  long z = 0;
  for (int i = 0; i < 60; i++) {
    std::vector<std::unique_ptr<Shape>> v;
    for (int k = 0; k < 20; k++)
      if ((i + k) % 3)
        v.push_back(std::make_unique<Sq>(i));
      else
        v.push_back(std::make_unique<Ci>(k));
    t += total(v);
    u[i] = std::to_string(t);
    for (auto& [w, c] : count("a b c " + u[i] + " a b " + u[i / 2]))
      z += c * w.size();
    z += apply([&](long x) { return x * i; }, 10);
  }
  printf("%f %ld\n", t, z);
}
