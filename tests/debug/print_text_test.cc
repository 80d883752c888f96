// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text behind rdb print: places, lists of expressions, edited sources, messages, hits, compile flags.
#include "rdbtool/debug/print/md5.h"
#include "rdbtool/debug/print/print_text.h"
#include "rdbtool/debug/print/source_lines.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/print/compile_command.h"

#include <gtest/gtest.h>

namespace rdb::debug {
namespace {

using Words = std::vector<std::string>;

TEST(PrintText, PlacesAreFileAndLine) {
  PrintRequest request = parse_place("src/a:b.c:42", " x ");
  EXPECT_EQ(request.file, "src/a:b.c");
  EXPECT_EQ(request.line, 42u);
  EXPECT_EQ(request.what, "x");
  for (const char* bad : {"", "a.c", ":3", "a.c:", "a.c:0", "a.c:3x", "a.c:-1"})
    EXPECT_THROW(parse_place(bad, "x"), UserError) << bad;
  EXPECT_THROW(parse_place("a.c:1", " "), UserError);
}

TEST(PrintText, ListsAreSplitAtOuterCommas) {
  EXPECT_EQ(split_expressions("x"), Words({"x"}));
  EXPECT_EQ(split_expressions("f(a, b), c[i, j] , \"x,\\\"y\", ',', (int[]){1, 2}[0]"),
            Words({"f(a, b)", "c[i, j]", "\"x,\\\"y\"", "','", "(int[]){1, 2}[0]"}));
  EXPECT_THROW(split_expressions("a,,b"), UserError);
  EXPECT_TRUE(is_format("\"%d\", x"));
  EXPECT_FALSE(is_format("x"));
}

TEST(PrintText, RegionsStandBeforeTheirLines) {
  PrintRequest request{"a.c", 3, "x, y", false};
  EditedSource edited = insert_regions("#include <a.h>\nint f(void) {\n  return x;\n}\n", {request}, "x > 1");
  EXPECT_EQ(edited.text, "#include <a.h>\n"
                         "#include <rdb/rdb.h>\nrdb_begin_globals\n#include <rdb/show.h>\nrdb_end_globals\n"
                         "int f(void) {\n"
                         "rdb_begin\nif (x > 1) {\n"
                         "__builtin_printf(\"\\x1e\\n\");\n"
                         "}\nrdb_end\n"
                         "rdb_begin\nif (x > 1) {\n"
                         "__builtin_printf(\"%s\", \"\\x1f\" \"x\" \"\\x1f\");\n"
                         "__rdb_show(x);\n"
                         "__builtin_printf(\"\\n\");\n"
                         "}\nrdb_end\n"
                         "rdb_begin\nif (x > 1) {\n"
                         "__builtin_printf(\"%s\", \"\\x1f\" \"y\" \"\\x1f\");\n"
                         "__rdb_show(y);\n"
                         "__builtin_printf(\"\\n\");\n"
                         "}\nrdb_end\n"
                         "  return x;\n}\n");
  EXPECT_EQ(edited.regions.at(7), 0u);
  EXPECT_EQ(edited.regions.at(19), 0u);
  EXPECT_EQ(retell_message("/src/a.c:22:13: error: use of undeclared identifier 'y'", edited),
            "'y':2: error: use of undeclared identifier 'y'");
  EXPECT_EQ(retell_message("/src/a.c:1:10: error: no a.h", edited), "/src/a.c:1:10: error: no a.h");
  EXPECT_THROW(insert_regions("x\n", {{"a.c", 2, "x", false}}, ""), UserError);
}

TEST(PrintText, IncludesInsideConditionalsAreNoPlaceForOthers) {
  PrintRequest request{"a.c", 5, "x", false};
  EditedSource edited =
      insert_regions("#include <a.h>\n#if X\n#include <b.h>\n#endif\nint x;\n", {request}, "");
  EXPECT_TRUE(edited.text.starts_with("#include <a.h>\n#include <rdb/rdb.h>\n")) << edited.text;
}

TEST(PrintText, RangesAreFileAndLines) {
  EXPECT_EQ(parse_range("a.c:3-7").last, 7u);
  EXPECT_EQ(parse_range("a.c:3").last, 3u);
  EXPECT_EQ(parse_range("dir/a.c").first, 1u);
  EXPECT_THROW(parse_range("a.c:7-3"), UserError);
  EXPECT_THROW(parse_range("a.c:-3"), UserError);
  EXPECT_THROW(parse_range(":3"), UserError);
}

TEST(PrintText, SpotsAreFunctionsAndAddresses) {
  EXPECT_TRUE(is_place("@main"));
  EXPECT_TRUE(is_place("*0x401000"));
  EXPECT_FALSE(is_place("@"));
  EXPECT_FALSE(is_place("*p"));
}

TEST(Md5, AgreesWithItsStandard) {
  auto text = [](const std::string& of) {
    std::string digits;
    for (uint8_t byte : md5(of))
      digits += fmt::format("{:02x}", byte);
    return digits;
  };
  EXPECT_EQ(text(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(text("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(text("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(SourceLines, PathsEndInTheNameOfTheSource) {
  EXPECT_TRUE(names_source("/src/dir/a.c", "a.c"));
  EXPECT_TRUE(names_source("/src/dir/a.c", "./dir/a.c"));
  EXPECT_TRUE(names_source("a.c", "a.c"));
  EXPECT_FALSE(names_source("/src/aa.c", "a.c"));
  EXPECT_FALSE(names_source("a.c", "dir/a.c"));
}

TEST(PrintText, HitsAreReadAndRendered) {
  std::optional<Hit> hit = parse_hit("[120 7 dir/a.c:9] \x1fx\x1f"
                                     "5\x1fname\x1f\"a,b\"");
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->time, 120u);
  EXPECT_EQ(hit->line, 9u);
  EXPECT_EQ(render_hit(*hit, "a.c:3", HitStyle::plain), "[120 7 a.c:3] x = 5, name = \"a,b\"");
  EXPECT_EQ(render_hit(*hit, "a.c:3", HitStyle::csv), "120,7,a.c:3,5,\"\"\"a,b\"\"\"");
  EXPECT_EQ(render_hit(*hit, "a.c:3", HitStyle::json),
            R"({"time":120,"thread":7,"place":"a.c:3","values":{"x":"5","name":"\"a,b\""}})");
  hit = parse_hit("[120 7 a.c:9] 3 of 4");
  ASSERT_TRUE(hit);
  EXPECT_EQ(render_hit(*hit, "a.c:3", HitStyle::plain), "[120 7 a.c:3] 3 of 4");
  EXPECT_FALSE(parse_hit("something else"));
}

TEST(CompileCommand, CommandsAreSplitAsAShellDoes) {
  EXPECT_EQ(split_command(R"(cc  -DA="x y" '-DB=\' c\ d)"), Words({"cc", "-DA=x y", "-DB=\\", "c d"}));
}

TEST(CompileCommand, OnlyFlagsThatMakeTheCodeAreKept) {
  EXPECT_EQ(flags_of({"clang", "-O2", "-g", "-Iinc", "-I", "x.c", "-D", "A", "-MD", "-MF", "a.d", "-c", "a.c",
                      "-o", "a.o", "-lm", "b.o", "-Wl,-z,now"}),
            Words({"-O2", "-g", "-Iinc", "-I", "x.c", "-D", "A"}));
}

} // namespace
} // namespace rdb::debug
