#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
enum class Kind : char { Small, Large };
struct Base { int id = 1; virtual ~Base() = default; };
struct Item : Base {
  std::string name; std::vector<int> sizes; std::optional<double> price; Kind kind = Kind::Large; std::unique_ptr<Item> next;
};
struct Shop { std::vector<Item> items; std::map<std::string, int> stock; Item* best = nullptr; };
static int work(Shop& shop, const std::string& key, std::vector<std::string>* list, std::string_view view) {
  std::optional<int> none;
  std::pair<int, std::string> pair{1, "p"};
  std::set<int> set{3, 1, 2};
  std::unordered_map<int, Kind> kinds{{1, Kind::Small}};
  std::shared_ptr<Item> shared(shop.best, [](Item*) {});
  bool flags[3] = {true, false, true};
  std::map<int, int>* nowhere = nullptr;
  return static_cast<int>(key.size());
}
int main() {
  Shop shop;
  shop.items.resize(2);
  shop.items[0].name = "bolt"; shop.items[0].sizes = {1, 2}; shop.items[0].price = 2.5;
  shop.best = &shop.items[0];
  shop.stock["bolt"] = 4;
  std::vector<std::string> list{"x", "y"};
  return work(shop, "key", &list, "view") - 3;
}
