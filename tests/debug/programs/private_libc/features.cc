#include <rdb/rdb.h>
#include <cstdio>
#include <string>
#include <vector>
struct Account { std::string name; int balance; virtual ~Account() = default; virtual int worth() const { return balance * 2; } };
struct Rich : Account { int worth() const override { calls++; return balance * 3; } mutable int calls = 0; };
template <class T> __attribute__((noinline)) T larger(T a, T b) { return a < b ? b : a; }
std::string describe(const Account &account) { return account.name + "!"; }
rdb_begin_globals
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
struct Log {
  std::ofstream file{"log.txt"};
  std::map<std::string, int> seen;
  Log() { file << "begin\n"; }
  ~Log() { file << "end " << seen.size() << "\n"; }
};
static Log journal;
static thread_local int calls = 5;
rdb_end_globals
int main() {
  std::vector<Account *> all = {new Account, new Rich};
  all[0]->name = "ann";
  all[1]->name = "a name that is too long to be kept inside of its string";
  for (Account *account : all) account->balance = static_cast<int>(account->name.size());
  for (Account *account : all) {
    rdb_begin
      std::ostringstream text;
      text << account->name << " " << account->worth() << " " << larger(account->balance, 10) << " " << describe(*account).size();
      journal.seen[account->name] += ++calls;
      auto copy = std::make_unique<std::string>(account->name);
      std::cout << text.str() << " " << copy->size() << " " << journal.seen.size() << " " << all.size() << std::endl;
      journal.file << account->balance << "\n";
    rdb_end
    account->balance++;
  }
  int sum = 0;
  for (Account *account : all) sum += account->worth();
  std::printf("%d %d\n", sum, static_cast<Rich *>(all[1])->calls);
  sum += larger(sum, 3) + static_cast<int>(describe(*all[0]).size());
  for (Account *account : all) delete account;
  return sum & 63;
}
