#include <rdb/rdb.h>
#include <cstdio>
#include <stdexcept>
#include <string>
struct Base { virtual ~Base() = default; virtual int f() const { return 1; } };
struct Derived : Base { int f() const override { return 2; } };
struct ProgramError : std::runtime_error {
  int code;
  explicit ProgramError(int c) : std::runtime_error("program's "), code(c) {}
};
struct Plain { int value; };
int throws(int k) { if (k > 1) throw ProgramError(k); return k; }
int n;
Base *volatile object = new Derived;
thread_local std::string program_text = "program";
rdb_begin_globals
#include <any>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <thread>
#include <variant>
struct Error : std::runtime_error { int code; explicit Error(int c) : std::runtime_error("error"), code(c) {} };
struct Shape { virtual ~Shape() = default; virtual int area() const = 0; };
struct Square : Shape { int side; explicit Square(int s) : side(s) {} int area() const override { return side * side; } };
struct Watcher : Base { int f() const override { return 42; } };
struct Counter : std::streambuf { int count = 0; int overflow(int c) override { count++; return c; } };
struct Life {
  const char *name;
  explicit Life(const char *s) : name(s) { std::printf("make %s\n", s); }
  ~Life() { std::printf("destroy %s\n", name); }
};
static Life first("first"), second("second");
static Life &lazy() { static Life l("lazy"); return l; }
static thread_local std::string own_text = "own";
thread_local std::string shared_text = "shared";
static std::function<int(int)> twice = [](int x) { return x * 2; };
static std::unique_ptr<Shape> shape = std::make_unique<Square>(3);
inline std::map<std::string, int> registry;
rdb_end_globals
int main() {
  program_text += "!";
  try { throws(2); } catch (const ProgramError &) { program_text += "!"; }
  for (int i = 0; i < 2; i++) {
    n += i;
    rdb_begin
      try { throw Error(i); } catch (const std::exception &e) { std::cout << e.what(); }
      try { throw Error(i); } catch (const Error &e) { std::cout << " " << e.code << "\n"; }
      try { throw ProgramError(i); } catch (const ProgramError &e) { std::cout << e.what() << e.code << "\n"; }
      try { throw Plain{i}; } catch (const Plain &e) { std::cout << "plain " << e.value << "\n"; }
    rdb_end
    n++;
    rdb_begin
      std::shared_ptr<Shape> square = std::make_shared<Square>(i + 1);
      std::cout << "area " << square->area() << " " << shape->area() << "\n";
      Watcher w;
      Base *b = &w;
      std::cout << b->f() << object->f() << (dynamic_cast<Derived *>(object) != nullptr)
          << (dynamic_cast<Watcher *>(b) != nullptr) << "\n";
    rdb_end
    n++;
    rdb_begin
      Counter counter;
      std::ostream(&counter) << "hello";
      own_text += "x";
      registry["k"] += n;
      std::cout << counter.count << " " << own_text << " " << shared_text << " " << program_text << " " << twice(n) << " "
          << registry["k"] << "\n";
      std::cout << lazy().name << "\n";
    rdb_end
    n++;
    rdb_begin
      std::variant<int, std::string> v = "text";
      std::visit([](auto &x) { std::cout << x; }, v);
      std::cout << std::any_cast<int>(std::any(5)) << std::regex_replace(std::string("abbbc"), std::regex("b+"), "X")
                << std::async(std::launch::deferred, [] { return 7; }).get() << "\n";
    rdb_end
    n++;
  }
  rdb_begin
    std::cout << "thread\n";
    std::thread([] { std::cout << "not reached\n"; }).join();
  rdb_end
  std::printf("n %d %s\n", n, program_text.c_str());
}
