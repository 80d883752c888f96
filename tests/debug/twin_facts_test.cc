// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The description that a twin object carries.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/twin_facts.h"

#include <gtest/gtest.h>
#include <random>

namespace rdb::debug {
namespace {

constexpr std::string_view kText = R"TEXT(rdb-twin 1
unit "k1" "src/a \"b\".c" "/home/of/it"
calls "main" "f" 3
function "main" "main" "a.c" 10 global rax:4 rdi,rsi -
function "f" "f(int, ...)" "a.c" 20 local xmm0:8,rax:8 rdi,xmm0,stack,... naked,fold=7,changed,poison=1;2
padding "f" rax 0xffffffffffff00ff
alias "f2" "f"
function "g" "g()" "" 0 weak none - noreturn,noresult,asm
function "h" "h(...)" "" 0 weak st0,st1 ... ifunc,constructor,coroutine,alwaysinline,convention
address "f"
region "__rdb_fn_k1_0" "f" 21 variables
static "f.x" "x" "f" "a.c" 22 4 mutable
static "names" "names" "" "a.c" 2 64 const
end
)TEXT";

std::string failure(const std::string& text) {
  try {
    read_twin_facts(text, "k1.o");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text(kText);
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return failure(text.replace(at, from.size(), to));
}

TEST(TwinFactsTest, Reads) {
  TwinFacts facts = read_twin_facts(kText, "k1.o");
  EXPECT_EQ(facts.unit.source, "src/a \"b\".c");
  EXPECT_EQ(facts.unit.directory, "/home/of/it");
  ASSERT_EQ(facts.functions.size(), 4u);
  const TwinFacts::Function& f = *facts.function("f");
  EXPECT_EQ(f.name, "f(int, ...)");
  EXPECT_EQ(f.line, 20u);
  EXPECT_EQ(f.linkage, TwinLinkage::local);
  EXPECT_EQ(f.result, (std::vector<ResultPart>{{ResultRegister::xmm0, 8},
                                               {ResultRegister::rax, 8, 0xffffffffffff00ff}}));
  EXPECT_EQ(f.arguments.integer, 1);
  EXPECT_EQ(f.arguments.vector, 1);
  EXPECT_TRUE(f.arguments.on_stack && f.arguments.variable);
  EXPECT_TRUE(f.naked && f.changed && f.address_taken);
  EXPECT_FALSE(f.noreturn || f.result_removed);
  EXPECT_EQ(f.fold, 7u);
  EXPECT_EQ(f.poisoned.integer, 0);
  EXPECT_EQ(f.poisoned.vector, 1);
  EXPECT_TRUE(f.poisoned.on_stack);
  ASSERT_EQ(facts.aliases.size(), 1u);
  EXPECT_EQ(facts.aliases[0].symbol, "f2");
  EXPECT_EQ(facts.aliases[0].function, 1u);
  const TwinFacts::Function& h = *facts.function("h");
  EXPECT_TRUE(h.arguments.variable && h.ifunc && h.constructor && h.coroutine && h.always_inline &&
              h.foreign_convention);
  EXPECT_EQ(h.arguments.integer, 0);
  EXPECT_EQ(facts.function("main")->arguments.integer, 3);
  EXPECT_TRUE(facts.function("g")->result.empty());
  EXPECT_EQ(facts.function("nobody"), nullptr);
  ASSERT_EQ(facts.calls.size(), 1u);
  EXPECT_EQ(facts.calls[0].count, 3u);
  EXPECT_EQ(facts.calls[0].callee, 1u);
  ASSERT_EQ(facts.regions.size(), 1u);
  EXPECT_EQ(facts.regions[0].host, 1u);
  ASSERT_EQ(facts.statics.size(), 2u);
  EXPECT_EQ(facts.statics[0].function, "f");
  EXPECT_FALSE(facts.statics[0].is_constant);
  EXPECT_EQ(facts.statics[1].size, 64u);
}

TEST(TwinFactsTest, NamesObjectAndLine) {
  EXPECT_EQ(failure(""), "k1.o(.rdbtwin):1: it is not the description of a twin");
  EXPECT_EQ(failure("rdb-twin 2\nend\n"),
            "k1.o(.rdbtwin):1: version 2, this rdb reads version 1; rebuild with the rdb-clang of this rdb");
  EXPECT_EQ(failure("rdb-twin 1\nend\n"), "k1.o(.rdbtwin):2: no line says which unit it is");
  EXPECT_EQ(changed("end\n", ""), "k1.o(.rdbtwin):13: it is cut off: the line 'end' is missing");
  EXPECT_EQ(changed("end\n", "end"), "k1.o(.rdbtwin):14: the last line is cut off");
  EXPECT_EQ(changed("end\n", "end\nend\n"), "k1.o(.rdbtwin):15: there is something behind the line 'end'");
  EXPECT_EQ(changed("calls \"main\" \"f\"", "calls \"main\" \"e\""),
            "k1.o(.rdbtwin):3: no function 'e' is defined");
  EXPECT_EQ(changed("unit", "unite"), "k1.o(.rdbtwin):2: unknown record 'unite'");
  EXPECT_EQ(changed("rax:4", "rax:9"), "k1.o(.rdbtwin):4: '9' is no number here");
  EXPECT_EQ(changed("rax:4", "rax:0"), "k1.o(.rdbtwin):4: 'rax:0' is no place of a result");
  EXPECT_EQ(changed("rax:4", "rax"), "k1.o(.rdbtwin):4: 'rax' is no place of a result");
  EXPECT_EQ(changed("rax:4", "rax:4,rax:4"), "k1.o(.rdbtwin):4: 'rax:4' is no place of a result");
  EXPECT_EQ(changed("rdi,rsi", "rdi,rbx"), "k1.o(.rdbtwin):4: 'rbx' is no place of an argument");
  EXPECT_EQ(changed("fold=7", "fold=x"), "k1.o(.rdbtwin):5: 'x' is no number here");
  EXPECT_EQ(changed("poison=1", "poison=4"), "k1.o(.rdbtwin):5: there is no argument 4");
  EXPECT_EQ(changed("\"f\" rax 0x", "\"f\" rdx 0x"), "k1.o(.rdbtwin):6: the function has no result in 'rdx'");
  EXPECT_EQ(changed("\"f\" rax 0x", "\"g\" rax 0x"), "k1.o(.rdbtwin):6: no function 'g' is defined");
  EXPECT_EQ(changed("\"f2\"", "\"g\""), "k1.o(.rdbtwin):7: 'g' is a function itself");
  EXPECT_EQ(changed("noreturn", "noretur"), "k1.o(.rdbtwin):8: 'noretur' is no flag");
  EXPECT_EQ(changed("function \"g\"", "function \"f\""), "k1.o(.rdbtwin):8: function 'f' is defined twice");
  EXPECT_EQ(changed("22 4 mutable", "22 4 odd"), "k1.o(.rdbtwin):12: 'odd' is no 'const' or 'mutable'");
  EXPECT_EQ(changed("22 4", "22 99999999999999"), "k1.o(.rdbtwin):12: size is too large");
  EXPECT_EQ(changed("\"names\" \"names\"", "\"f.x\" \"names\""),
            "k1.o(.rdbtwin):13: variable 'f.x' is defined twice");
}

// Whatever it is, it is read or refused.
TEST(TwinFactsTest, MutatedText) {
  std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed)
  unsigned refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text(kText);
    for (unsigned i = 0; i <= random() % 3; ++i) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, random() % 20);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    refused += !failure(text).empty();
  }
  EXPECT_GT(refused, 1500u);
}

} // namespace
} // namespace rdb::debug
