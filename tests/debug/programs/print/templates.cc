#include <cstdio>
template <typename T> struct Pair {
  T first, second;
  T larger() const {
    T result = first;
    if (second > result) result = second;
    return result;
  }
};
int main() {
  Pair<int> i{1, 2};
  Pair<double> d{2.5, 1.5};
  std::printf("%d %g\n", i.larger(), d.larger());
}
