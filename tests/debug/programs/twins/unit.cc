// C++: exceptions, virtual functions, variables of inline functions and of anonymous namespaces.
#include <stdexcept>
#include <string>
#include <typeinfo>

namespace {
int hidden = 3; // line: hidden
struct Odd : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square : Shape {
  explicit Square(int side) : side_(side) {}
  int area() const override { return side_ * side_; }
  int side_;
};

inline int &counter() {
  static int value = 100;
  return value;
}

extern "C" {
[[gnu::noinline]] int thrower(int x) {
  if (x == 1) throw Odd("odd " + std::to_string(x));
  if (x == 2) throw 42;
  return x;
}

int entry_catch(int x) {
  std::string kept = "kept over the throw, long enough for the heap";
  try {
    return thrower(x);
  } catch (const std::runtime_error &error) {
    return static_cast<int>(std::string(error.what()).size() + kept.size()) + hidden++;
  } catch (int value) {
    return value + ++counter();
  }
}

Shape *entry_make(int x) { return new Square(x); }
int entry_area(Shape *shape) { return shape->area() + (typeid(*shape) == typeid(Square)); }
void entry_drop(Shape *shape) { delete shape; }
}
