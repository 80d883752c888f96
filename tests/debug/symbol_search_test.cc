// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions and variables by the names that users write, in this program's own file.
#include "rdbtool/debug/events/symbol_search.h"
#include "rdbtool/debug/regions/program_file.h"

#include <gtest/gtest.h>
#include <set>

namespace shop {

struct List {
  [[gnu::noinline, gnu::used]] int insert(int value) const;
  [[gnu::noinline, gnu::used]] int insert_all() const;
};
int List::insert(int value) const {
  return value + 1;
}
int List::insert_all() const {
  return 2;
}
[[gnu::used]] int stock = 5;

} // namespace shop

[[gnu::used]] int search_global = 1;
[[gnu::used]] static int search_local = 2;
extern "C" [[gnu::noinline, gnu::used]] int search_plain() {
  return 3;
}
extern "C" [[gnu::used]] int (*search_resolver())() {
  return search_plain;
}
extern "C" int search_indirect() __attribute__((ifunc("search_resolver")));

namespace rdb::debug {
namespace {

class SymbolSearchTest : public testing::Test {
protected:
  std::set<std::string> functions(const std::string& pattern) const {
    std::set<std::string> names;
    for (const FoundFunction& found : find_functions(file_.elf(), pattern))
      names.insert(found.name);
    return names;
  }
  std::vector<FoundVariable> variables(const std::string& name) const {
    return find_variables(file_.elf(), name);
  }

  ProgramFile file_{"/proc/self/exe"};
};

using Names = std::set<std::string>;

TEST_F(SymbolSearchTest, FunctionsAsLinkedAndAsWritten) {
  EXPECT_EQ(functions("search_plain"), Names{"search_plain"});
  EXPECT_EQ(functions("search_pl*n"), Names{"search_plain"});
  EXPECT_EQ(functions("search_plai"), Names());
  EXPECT_EQ(functions("shop::List::insert"), Names{"_ZNK4shop4List6insertEi"});
  EXPECT_EQ(functions("shop::List::insert(int) const"), Names{"_ZNK4shop4List6insertEi"});
  EXPECT_EQ(functions("_ZNK4shop4List6insertEi"), Names{"_ZNK4shop4List6insertEi"});
  EXPECT_EQ(functions("shop::*::insert*"),
            (Names{"_ZNK4shop4List6insertEi", "_ZNK4shop4List10insert_allEv"}));
  EXPECT_EQ(functions("search_global"), Names()); // is none
}

TEST_F(SymbolSearchTest, IndirectFunctions) {
  std::vector<FoundFunction> found = find_functions(file_.elf(), "search_indirect");
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].is_indirect);
  found = find_functions(file_.elf(), "search_plain");
  ASSERT_FALSE(found.empty());
  EXPECT_FALSE(found[0].is_indirect);
}

TEST_F(SymbolSearchTest, Variables) {
  ASSERT_FALSE(variables("search_global").empty());
  EXPECT_EQ(variables("search_global")[0].name, "search_global");
  EXPECT_EQ(variables("search_global")[0].size, sizeof search_global);
  ASSERT_FALSE(variables("shop::stock").empty());
  EXPECT_EQ(variables("shop::stock")[0].name, "_ZN4shop5stockE");
  EXPECT_TRUE(variables("search_plain").empty()); // is none
  EXPECT_TRUE(variables("stock").empty());
}

TEST_F(SymbolSearchTest, VariablesOfASourceFile) {
  ASSERT_EQ(variables("search_local").size(), 1u);
  EXPECT_EQ(variables("search_local")[0].name, "symbol_search_test.cc:_ZL12search_local");
  EXPECT_EQ(variables("symbol_search_test.cc:search_local").size(), 1u);
  EXPECT_TRUE(variables("other.cc:search_local").empty());
  EXPECT_FALSE(variables("symbol_search_test.cc:search_global").empty());
  EXPECT_TRUE(variables("other.cc:search_global").empty());
}

} // namespace
} // namespace rdb::debug
