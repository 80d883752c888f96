// A private member of a class in a namespace.
#include <cstdio>
namespace shop {
class Till {
public:
  void add(int amount) { total_ += amount; }
  int total() const { return total_; }
private:
  int total_ = 0;
};
Till till;
}
int main() {
  shop::till.add(3);
  shop::till.add(4);
  std::printf("%d\n", shop::till.total());
}
