#include <iostream>
#include <map>
#include <string>
#include <vector>
template <class T> struct Box { T value; virtual ~Box() {} virtual T get() const { return value; } };
static thread_local int counter;
int main(int argc, char **argv) {
  std::map<std::string, int> words;
  for (int i = 0; i < argc; i++) words[argv[i]] = counter++;
  Box<std::string> box; box.value = "x";
  try { if (argc > 100) throw box.get(); } catch (const std::string &s) { std::cerr << s; }
  auto each = [&](auto f) { for (auto &[w, n] : words) f(w, n); };
  each([](auto &w, int n) { std::cout << w << n << "\n"; });
}
