// Member functions, virtual calls, constructors and destructors, exceptions.
#include <rdb/rdb.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
class Shape {
public:
  explicit Shape(std::string name) : name_(std::move(name)) {
    ++alive_;
    rdb_begin
      std::printf("new %s, %d alive\n", name_.c_str(), alive_);
    rdb_end
  }
  virtual ~Shape() {
    rdb_begin
      std::printf("delete %s\n", this->name_.c_str());
    rdb_end
    --alive_;
  }
  virtual double area() const = 0;
  const std::string &name() const { return name_; }
  static int alive() { return alive_; }

private:
  std::string name_;
  static int alive_;
};
int Shape::alive_ = 0;
class Square : public Shape {
public:
  explicit Square(double side) : Shape("square"), side_(side) {
    if (side < 0) throw std::invalid_argument("negative side");
  }
  double area() const override {
    double result = side_ * side_;
    rdb_begin
      std::printf("side=%g area=%g\n", side_, result);
    rdb_end
    return result;
  }

private:
  double side_;
};
static double try_square(double side) {
  try {
    std::unique_ptr<Shape> shape = std::make_unique<Square>(side);
    rdb_begin
      try {
        if (shape->area() > 3) throw 42;
      } catch (int n) {
        std::printf("thrown %d\n", n);
      }
    rdb_end
    return shape->area();
  } catch (const std::exception &error) {
    rdb_begin
      std::printf("caught %s\n", error.what());
    rdb_end
    return -1;
  }
}
int main() {
  double total = try_square(2) + try_square(-1);
  std::printf("%g %d\n", total, Shape::alive());
  return 0;
}
