// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people see: the table of `rdb inspect`, and what `rdb verify` says of programs that are not the same.
#include "descriptors/compare_programs.h"
#include "descriptors/inspect.h"
#include "tests/compiler/toolbox.h"

#include <algorithm>

namespace {

using namespace rdb;
using namespace rdb::descriptors;

TEST(Inspect, TableNamesRegionsPlacesAndOwners) {
  Descriptors d;
  d.program.push_back({"prog", "ab12", "00"});
  d.units.push_back({1, "u", "a.c", "/", ""});
  d.sources.push_back({1, "a.c", "sources/1/a.c", {}});
  d.regions.push_back({1, 1, 1, 30, 32, Status::lost, "the optimiser left no place for it", "", "late", 0});
  d.regions.push_back({2, 1, 1, 10, 12, Status::complete, "", "f", "work", 2});
  d.locations.push_back({2, 0, Side::before, Address::absolute(0x401136), "_Z4workiSt6vectorIiSaIiEE"});
  d.locations.push_back({2, 1, Side::after, Address::absolute(0x401200), "main"});
  Part reg{0, 4, Class::in_register};
  reg.reg = register_number("rdi");
  Part stack{0, 40, Class::stack};
  stack.reg = register_number("rbp");
  stack.reg_offset = -48;
  Part gone{0, 4, Class::unavailable};
  gone.reason = "optimised out";
  d.arguments.push_back({2, 0, 0, "n", "int", 4, 4, {reg}});
  d.arguments.push_back({2, 0, 1, "values", "int[10]", 40, 4, {stack}});
  d.arguments.push_back({2, 1, 0, "n", "int", 4, 4, {gone}});
  d.symbols.push_back({"printf", Owner::host, "s", false, {}, "libc.so.6"});
  d.symbols.push_back({"_ZN3Foo3barEi", Owner::program, "t", false, Address::absolute(0x4020), "foo.o"});
  d.symbols.push_back({std::string(41, 'f'), Owner::host, "u", false, {}, "libc.so.6"});
  EXPECT_EQ(inspection(d), "program prog, build-id ab12\n"
                           "2 regions, 2 locations\n"
                           "\n"
                           "a.c:10-12 in work: complete\n"
                           "  before 0x401136\n"
                           "    n       int      register rdi\n"
                           "    values  int[10]  stack rbp-48\n"
                           "  after 0x401200, inlined into main\n"
                           "    n  int  unavailable: optimised out\n"
                           "\n"
                           "a.c:30-32 in late: lost, the optimiser left no place for it\n"
                           "\n"
                           "symbols\n"
                           "  printf         private         libc.so.6\n"
                           "  Foo::bar(int)  program 0x4020  foo.o\n"
                           "  fffffffffffffffffffffffffffffffffffffffff  private         libc.so.6\n");
}

TEST(Inspect, TwinsAreCounted) {
  Descriptors d;
  d.program.push_back({"prog", "", "00"});
  TwinTexts twins;
  twins["u.o"] = "rdb-twin 1\nfunction \"f\" \"f\" \"a.c\" 1 global none - -\n"
                 "function \"g\" \"g\" \"a.c\" 9 global none - -\n"
                 "region \"__rdb_fn_u_1\" \"f\" 2 memory\nregion \"__rdb_fn_u_1_1\" \"g\" 2 memory\n"
                 "region \"__rdb_fn_u_12\" \"g\" 10 memory\nend\n";
  EXPECT_EQ(inspection(d, twins), "program prog\n0 regions, 0 locations\n"
                                  "twins of 2 functions of 1 file, with 3 regions\n");
}

TEST(Inspect, EveryClassHasItsWords) {
  Argument a{1, 0, 0, "v", "int", 4, 4, {}};
  Part p{0, 4, Class::value};
  p.steps = {
      {Op::push_register, register_number("rax")}, {Op::push_constant, static_cast<uint64_t>(-8)}, {Op::add}};
  a.parts = {p};
  EXPECT_EQ(describe(a), "computed [rax -8 add]");
  p.cls = Class::address;
  a.parts = {p};
  EXPECT_EQ(describe(a), "memory at [rax -8 add]");
  Part constant{0, 4, Class::constant};
  constant.bytes = std::string("\x2a\0\0\0", 4);
  a.parts = {constant};
  EXPECT_EQ(describe(a), "constant 0x2a");
  Part low{0, 4, Class::in_register}, high{4, 4, Class::in_register};
  low.reg = register_number("rax");
  high.reg = register_number("rdx");
  a.parts = {low, high};
  EXPECT_EQ(describe(a), "bytes 0-3 register rax; bytes 4-7 register rdx");
  high.cls = Class::unread;
  a.parts = {low, high};
  EXPECT_EQ(describe(a), "bytes 0-3 register rax; bytes 4-7 not read");
}

class Verify : public test::Toolbox {
protected:
  Comparison compare(const std::string& original, const std::string& program) {
    std::string a = get(original), b = get(program);
    return compare_programs(elf::File(a), elf::File(b));
  }
  void build(const std::string& name, const std::string& body, const std::string& flags = "-O1") {
    put("src.c", "#include <stdio.h>\n"
                 "int one(int x) { return x + 1; }\nint two(int x) { printf(\"%d\\n\", x); return x; }\n"
                 "static __attribute__((noinline)) int three(int x) { " +
                     body +
                     " }\n"
                     "int main(int n, char **v) { return one(n) + two(n) + three(n); }\n");
    must("/usr/bin/clang-22 " + flags + " src.c -o " + name);
  }
};

TEST_F(Verify, SaysWhatIsEqual) {
  build("a", "return x * 3;");
  build("b", "return x * 3;");
  EXPECT_TRUE(compare("a", "b").same_file);
  build("g", "return x * 3;", "-O1 -g");
  Comparison debug = compare("a", "g");
  EXPECT_FALSE(debug.same_file);
  EXPECT_TRUE(debug.same_loaded);
  EXPECT_NE(std::ranges::find(debug.other_sections, ".debug_info"), debug.other_sections.end());
}

TEST_F(Verify, NamesTheFunctionThatChanged) {
  build("a", "return x * 3;");
  build("b", "return x * 3 % 17;");
  Comparison changed = compare("a", "b");
  EXPECT_FALSE(changed.same_loaded);
  EXPECT_TRUE(changed.first_difference.starts_with("function three: ")) << changed.first_difference;
  ASSERT_EQ(changed.reasons.size(), 1u);
  EXPECT_TRUE(changed.reasons[0].starts_with("changed source: ")) << changed.reasons[0];
  EXPECT_NE(changed.reasons[0].find("only three differs"), std::string::npos) << changed.reasons[0];
  build("c", "return x * 5;");
  build("d", "return x * 9;");
  EXPECT_EQ(compare("c", "d").first_difference, "function three, same size, other bytes");
}

TEST_F(Verify, NamesCompilerFlagsAndLinker) {
  build("a", "return x * 3;");
  put("src.c", "int main(void) { return 0; }");
  must("/usr/bin/clang-22 -O1 src.c -o clang && gcc -O1 src.c -o gcc");
  Comparison compiler = compare("clang", "gcc");
  ASSERT_FALSE(compiler.reasons.empty());
  EXPECT_TRUE(compiler.reasons[0].starts_with("another compiler or linker: made by GCC"))
      << compiler.reasons[0];
  build("o0", "return x * 3;", "-O0");
  EXPECT_TRUE(compare("a", "o0").reasons[0].starts_with("other flags: 4 of"))
      << compare("a", "o0").reasons[0];
  build("nopie", "return x * 3;", "-O1 -no-pie");
  bool named = false;
  for (const std::string& reason : compare("a", "nopie").reasons)
    named |= reason.find("position-independent") != std::string::npos;
  EXPECT_TRUE(named);
  build("g1", "return x * 3;", "-O1 -g -grecord-command-line");
  build("g2", "return x * 3;", "-O2 -g -grecord-command-line -fno-inline");
  EXPECT_TRUE(compare("g1", "g2").reasons[0].starts_with("other flags: compiled by"))
      << compare("g1", "g2").reasons[0];
}

TEST_F(Verify, NamesDataThatChanged) {
  build("a", "puts(\"one\"); return 1;");
  build("b", "puts(\"two\"); return 1;");
  Comparison data = compare("a", "b");
  EXPECT_TRUE(data.first_difference.starts_with("section .rodata, from byte ")) << data.first_difference;
  EXPECT_TRUE(data.reasons[0].starts_with("changed data or constants")) << data.reasons[0];
}

} // namespace
