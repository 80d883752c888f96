#include <map>
#include <string>
#include <vector>
struct Item { std::string name; int count; int doubled() const { return 2 * count; } };
int total(const std::vector<Item>& items, std::map<std::string, int>& index) {
  int sum = 0;
  for (const Item& item : items) {
    index[item.name] = item.count;
    sum += item.count;
  }
  return sum;
}
int main() {
  std::map<std::string, int> index;
  std::vector<Item> items{{"bolt", 3}, {"nut", 4}};
  return total(items, index);
}
