// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Virtual functions, templates, containers, an exception through several frames, and a library that is loaded
// when the program has run for a while.
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};

struct Square : Shape {
  int side;
  explicit Square(int s) : side(s) {}
  int area() const override;
};

int Square::area() const {
  return side * side; // area
}

template <class T>
[[gnu::noinline]] T largest(const std::vector<T>& values) {
  T best = values.front();
  for (const T& value : values)
    if (best < value) best = value; // larger
  return best;
}

thread_local int depth_reached = 1;
int caught;

[[gnu::noinline]] void descend(int left) {
  depth_reached++;
  if (left == 0) throw std::runtime_error("too deep"); // throw
  descend(left - 1);
  depth_reached = 0;
}

int main(int argc, char** argv) {
  std::map<std::string, int> ages{{"ann", 30}, {"bob", 20}};
  std::unique_ptr<Shape> shape = std::make_unique<Square>(argc + 1);
  int total = shape->area();                     // virtual
  total += largest<int>({3, 9, 4, ages["ann"]}); // template
  try {
    descend(3);
  } catch (const std::exception& error) {
    caught = static_cast<int>(std::strlen(error.what())); // caught
  }
  if (void* library = dlopen(argv[1], RTLD_NOW)) {
    auto* scale = reinterpret_cast<int (*)(int)>(dlsym(library, "scale"));
    total = scale(total) + scale(caught); // library
  }
  return total & 127;
}
