// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C++: members, templates, virtual functions, lambdas, containers, exceptions that are caught within a call.
#include <rdb/rdb.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class Shape {
public:
  virtual ~Shape() = default;
  virtual int area() const = 0;
};

class Square : public Shape {
public:
  explicit Square(int side) : side_(side) {}
  int area() const override {
    int result = side_ * side_;
    rdb_begin
      std::printf("r area %d %d\n", side_, result);
    rdb_end
    return result;
  }

private:
  int side_;
};

template <class T>
T sum_of(const std::vector<T> &values) {
  T sum = 0;
  for (T value : values) {
    sum += value;
    rdb_begin
      std::printf("r sum_of %g %g\n", double(value), double(sum));
    rdb_end
  }
  return sum;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) {
    size_t before = text.size();
    text += word;
    rdb_begin
      std::printf("r joined %zu %s\n", before, text.c_str());
    rdb_end
  }
  return text;
}

int parsed(const std::string &text) {
  int result = 0;
  try {
    result = std::stoi(text);
    rdb_begin
      std::printf("r parsed %d\n", result);
    rdb_end
  } catch (const std::invalid_argument &) {
    rdb_begin
      std::printf("r caught %s\n", text.c_str());
    rdb_end
    result = -1;
  }
  return result;
}

int thrown(int n) {
  int depth = 0;
  try {
    if (n > 1) throw std::runtime_error(std::to_string(n));
    depth = 1;
  } catch (const std::exception &error) {
    depth = 2;
    rdb_begin
      std::printf("r thrown %d %s\n", depth, error.what());
    rdb_end
  }
  return depth;
}

int counted(const std::vector<int> &values) {
  std::map<int, int> counts;
  for (int value : values)
    ++counts[value];
  int most = 0;
  for (const auto &[value, count] : counts) {
    if (count > most) most = count;
    rdb_begin
      std::printf("r counted %d %d %d\n", value, count, most);
    rdb_end
  }
  return most;
}

int applied(int n) {
  int sum = 0;
  std::function<void(int)> add = [&](int by) {
    sum += by;
    rdb_begin
      std::printf("r added %d %d\n", by, sum);
    rdb_end
  };
  for (int i = 0; i < n; ++i)
    add(i);
  return sum;
}

} // namespace

struct Functions {
  int (*area)(const Shape &);
  double (*sum)(const std::vector<double> &);
  long (*total)(const std::vector<long> &);
  std::string (*join)(const std::vector<std::string> &);
  int (*parse)(const std::string &);
  int (*throws)(int);
  int (*count)(const std::vector<int> &);
  int (*apply)(int);
};

static int area_of(const Shape &shape) { return shape.area(); }

Functions volatile functions = {area_of, sum_of<double>, sum_of<long>, joined, parsed, thrown, counted, applied};

int main(int argc, char **) {
  std::unique_ptr<Shape> shape = std::make_unique<Square>(argc + 2);
  std::printf("%d\n", functions.area(*shape));
  std::printf("%g %ld\n", functions.sum({1.5, 2.5}), functions.total({1, 2, 3}));
  std::printf("%s\n", functions.join({"a", "long enough for the heap", "z"}).c_str());
  std::printf("%d %d\n", functions.parse("17"), functions.parse("seventeen"));
  std::printf("%d %d\n", functions.throws(1), functions.throws(3));
  std::printf("%d %d\n", functions.count({3, 1, 3}), functions.apply(3));
  return 0;
}
