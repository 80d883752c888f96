// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The textual scanner: what is a region, what leaves with it, which mistakes it names, and that every view
// keeps lines in step.
#include "llvm-passes/source/regions.h"

#include <gtest/gtest.h>

namespace {

using namespace rdb::source;

std::string strip(std::string_view text) {
  return stripped_text(text, scan(text));
}

// "LINE:COLUMN: message" of the only diagnostic.
std::string complaint(std::string_view text) {
  Scan result = scan(text);
  if (result.diagnostics.size() != 1) return std::to_string(result.diagnostics.size()) + " diagnostics";
  const Diagnostic& d = result.diagnostics[0];
  return std::to_string(d.line) + ":" + std::to_string(d.column) + ": " + d.message;
}

TEST(Regions, DeclarationsThatAreDebugCodeLeave) {
  EXPECT_EQ(strip("int a;\nint __rdb_b = 3; // c\nint d;\n"), "int a;\nint d;\n");
  EXPECT_EQ(strip("struct __rdb_s {\n int x;\n};\nint d;\n"), "int d;\n");
  EXPECT_EQ(strip("int __rdb_f(int n)\n{\n  return '}' + n;\n}\nint d;\n"), "int d;\n");
  EXPECT_EQ(strip("__attribute__((annotate(\"rdb\")))\nint f(void) { return 1; }\nint d;\n"), "int d;\n");
  EXPECT_EQ(strip("#ifdef DEBUG\nint __rdb_b;\n#endif\nint d;\n"), "int d;\n");
  EXPECT_EQ(strip("namespace n {\nint __rdb_b;\nint d;\n}\n"), "namespace n {\nint d;\n}\n");
  EXPECT_EQ(strip("BEGIN_DECLS\nint __rdb_b;\nDEFINE(x)\nint __rdb_c;\nEND_DECLS\n"),
            "BEGIN_DECLS\nDEFINE(x)\nEND_DECLS\n");
  EXPECT_EQ(strip("define(x)\nint __rdb_c;\nold(a)\nint a;\n{ return a; }\nint __rdb_d;\n"),
            "define(x)\nold(a)\nint a;\n{ return a; }\n");
  EXPECT_EQ(strip("// src/*.c\n#include \"a/*.h\" // b/*\n#define C \"/*\"\nint __rdb_b;\nint c;\n"),
            "// src/*.c\n#include \"a/*.h\" // b/*\n#define C \"/*\"\nint c;\n");
  // Uses, parameters and members are none of their own.
  for (std::string_view text :
       {"int f(int __rdb_x) { return __rdb_x; }\n", "int a = __rdb_b;\n", "struct s { int __rdb_x; };\n",
        "const char* s = \"int __rdb_b;\"; // __rdb_c\n", "#define X int __rdb_b;\n",
        "#if 0\nit's __rdb_\n#endif\nint d;\n"})
    EXPECT_EQ(strip(text), text);
  for (std::string_view text : {"int a; int __rdb_b;\n", "/* a\n */ int __rdb_b;\nint c; /* d */\n",
                                "int __rdb_b; /* c\n */ int d;\n"})
    EXPECT_TRUE(complaint(text).ends_with(": a debug-only declaration must stand alone on its lines"))
        << text;
  EXPECT_EQ(complaint("#define DEBUG_ONLY __attribute__((annotate(\"rdb\")))\n"),
            "1:1: annotate(\"rdb\") inside a macro definition; write it where the macro is used");
}

TEST(Regions, DeclarationsEndWhereTheLanguageSays) {
  for (std::string_view debug :
       {"__rdb_s& __rdb_s::operator=(const __rdb_s& o) {\n  return *this;\n}\n",
        "__rdb_s::__rdb_s(int n)\n  : a{n}, b(n),\n    c{n}\n{\n  a++;\n}\n",
        "__rdb_s::__rdb_s() noexcept : a{1} {\n}\n",
        "auto __rdb_f(int n) -> std::string {\n  return {};\n}\n",
        "template <class T>\nvoid __rdb_f(T t) requires requires(T u) { u.x; }\n{\n  t.x++;\n}\n",
        "template <class T> requires requires(T t) { t.x; }\nvoid __rdb_f(T t) {}\n",
        "template <class T = int, bool B = (3 > 2)>\nvoid __rdb_f(T t) {}\n",
        "int __rdb_f(void) { return 1; };\n", "std::function<int(int)> __rdb_f{[](int x) { return x; }};\n",
        "__attribute__((__annotate__(\"rdb\"))) int f(void);\n"})
    EXPECT_EQ(strip(std::string(debug) + "int f(int n) {\n  return n;\n}\n"),
              "int f(int n) {\n  return n;\n}\n");
  // What stands inside of a declaration has an attribute of its own.
  for (std::string_view text : {"int f(void) { __attribute__((annotate(\"rdb\"))) int n; }\n",
                                "struct s { [[clang::annotate(\"rdb\")]] int n; };\n",
                                "int f(int n __attribute__((annotate(\"rdb\"))));\n",
                                "bool operator==(s a, s b) { return a.x == b.x; }\nint c = __rdb_d;\n"})
    EXPECT_EQ(strip(text), text);
}

TEST(Regions, RegionAndIncludeLeaveWithTheirLines) {
  std::string_view text = "#include <rdb/rdb.h>\n"
                          "int f(int n) {\n"
                          "  n++;\n"
                          "  rdb_begin\n"
                          "    print(n);\n"
                          "  rdb_end\n"
                          "  return n;\n"
                          "}\n";
  Scan result = scan(text);
  ASSERT_EQ(result.regions.size(), 1u);
  EXPECT_EQ(result.regions[0].number, 1u);
  EXPECT_EQ(result.regions[0].kind, RegionKind::kBody);
  EXPECT_EQ(result.regions[0].begin_line, 4u);
  EXPECT_EQ(result.regions[0].begin_column, 3u);
  EXPECT_EQ(result.regions[0].end_line, 6u);
  EXPECT_EQ(result.regions[0].stripped_line, 3u);
  EXPECT_FALSE(result.regions[0].guard);
  EXPECT_EQ(result.include_lines, std::vector<unsigned>{1});
  EXPECT_TRUE(result.diagnostics.empty());
  EXPECT_EQ(stripped_text(text, result), "int f(int n) {\n  n++;\n  return n;\n}\n");
}

TEST(Regions, FileWithoutMarkersIsUntouched) {
  std::string_view text = "int rdb;\n#include <rdbx.h>\n";
  EXPECT_FALSE(may_have_regions(text));
  EXPECT_TRUE(scan(text).untouched());
  EXPECT_EQ(strip(text), text);
  EXPECT_TRUE(scan("int rdb_beginning, xrdb_begin, rdb_endless;\n").untouched());
}

TEST(Regions, CommentsAndSemicolonMayStandBesideAMarker) {
  for (const char* marker :
       {"rdb_begin", "rdb_begin;", "rdb_begin // why", "/* why */ rdb_begin ; /* x */", "\trdb_begin\r"}) {
    std::string text = std::string("a\n") + marker + "\nb\nrdb_end\nc\n";
    EXPECT_EQ(strip(text), "a\nc\n") << marker;
    EXPECT_TRUE(scan(text).diagnostics.empty()) << marker;
  }
}

TEST(Regions, MarkersInCommentsAndStringsAreNone) {
  for (const char* text : {
           "// rdb_begin\n",
           "// continued \\\nrdb_begin\n",
           "/*\nrdb_begin\n*/\n",
           "/* * \\\n/ rdb_begin\n*/\n",
           "char *s = \"\\\nrdb_begin\";\n",
           "char *s = \"quote \\\" \\\nrdb_begin\";\n",
           "auto s = R\"(\nrdb_begin\n)\";\n",
           "auto s = u8R\"x(\nrdb_begin\n)\"\nrdb_end\n)x\";\n",
           "int c = '\"'; /*\nrdb_begin */ int d = '\"';\n",
           "int n = 1'000; int m = 0x1'f; /*\nrdb_begin\n*/\n",
       })
    EXPECT_TRUE(scan(text).untouched()) << text;
}

TEST(Regions, QuotesThatEndNothingDoNotHideRegions) {
  EXPECT_EQ(strip("#error don't\nrdb_begin\nx\nrdb_end\n"), "#error don't\n");
  EXPECT_EQ(strip("#include <a//b>\nrdb_begin\nx\nrdb_end\n"), "#include <a//b>\n");
  EXPECT_EQ(strip("int n = 10'000'000;\nrdb_begin\nx\nrdb_end\n"), "int n = 10'000'000;\n");
  EXPECT_EQ(strip("auto s = R\"(\" rdb_begin)\";\nrdb_begin\nx\nrdb_end\n"),
            "auto s = R\"(\" rdb_begin)\";\n");
  EXPECT_EQ(strip("// ends \\\\\nstill comment\nrdb_begin\nx\nrdb_end\n"), "// ends \\\\\nstill comment\n");
}

TEST(Regions, GuardPairLeavesWithItsRegions) {
  std::string_view text = "a\n"
                          "#ifdef DEBUG\n"
                          "#include \"rdb/rdb.h\"\n"
                          "#endif\n"
                          "#if defined(DEBUG) // on\n"
                          "\n"
                          "  /* two */\n"
                          "  rdb_begin\n"
                          "  x\n"
                          "  rdb_end\n"
                          "  rdb_begin\n"
                          "  y\n"
                          "  rdb_end\n"
                          "#endif\n"
                          "b\n";
  Scan result = scan(text);
  EXPECT_EQ(stripped_text(text, result), "a\nb\n");
  ASSERT_EQ(result.guards.size(), 2u);
  ASSERT_EQ(result.regions.size(), 2u);
  ASSERT_TRUE(result.regions[1].guard);
  EXPECT_EQ(result.regions[1].guard->if_line, 5u);
  EXPECT_EQ(result.regions[1].guard->endif_line, 14u);
  EXPECT_FALSE(result.regions[1].guard->constant_false);
  EXPECT_EQ(result.regions[0].stripped_line, 2u);
}

TEST(Regions, NestedGuardsLeaveTogether) {
  std::string_view text = "#ifdef A\n#ifndef B\nrdb_begin\nx\nrdb_end\n#endif\n#endif\nc\n";
  Scan result = scan(text);
  EXPECT_EQ(stripped_text(text, result), "c\n");
  ASSERT_EQ(result.guards.size(), 2u);
  EXPECT_EQ(result.guards[0].if_line, 1u);
  EXPECT_EQ(result.regions[0].guard->if_line, 2u);
}

TEST(Regions, ConditionalWithOtherCodeStays) {
  EXPECT_EQ(strip("#ifdef A\nint x;\nrdb_begin\ny\nrdb_end\n#endif\n"), "#ifdef A\nint x;\n#endif\n");
  EXPECT_EQ(strip("#ifdef A\nint x;\nrdb_begin\ny\nrdb_end\n#else\nz\n#endif\n"),
            "#ifdef A\nint x;\n#else\nz\n#endif\n");
  EXPECT_EQ(strip("#ifndef H\n#define H\nrdb_begin\ny\nrdb_end\n#endif\n"), "#ifndef H\n#define H\n#endif\n");
}

TEST(Regions, IfZeroIsAGuardThatStaysFalse) {
  std::string_view text = "#if 0 /* off */\nrdb_begin\nx\nrdb_end\n#endif\na\n";
  Scan result = scan(text);
  EXPECT_EQ(stripped_text(text, result), "a\n");
  EXPECT_TRUE(result.regions[0].guard->constant_false);
  EXPECT_TRUE(scan("#if 0\nuse rdb_begin here, don't worry\n#endif\n").untouched());
}

TEST(Regions, GlobalsRegionsAreTheirOwnKind) {
  std::string_view text = "rdb_begin_globals\nstatic int n;\nrdb_end_globals\nint m;\n";
  Scan result = scan(text);
  ASSERT_EQ(result.regions.size(), 1u);
  EXPECT_EQ(result.regions[0].kind, RegionKind::kGlobals);
  EXPECT_EQ(stripped_text(text, result), "int m;\n");
}

TEST(Regions, ForeignHeaderOfThatNameStays) {
  std::string_view text = "#include \"mine/rdb/rdb.h\"\n";
  auto foreign = [](std::string_view name, bool angled) { return angled || name == "rdb/rdb.h"; };
  EXPECT_EQ(stripped_text(text, scan(text, foreign)), text);
  EXPECT_EQ(strip(text), "");
}

TEST(Regions, MistakesAreNamedWithTheirPlace) {
  EXPECT_EQ(complaint("a\n  rdb_begin\nb\n"), "2:3: rdb_begin without rdb_end");
  EXPECT_EQ(complaint("a\nrdb_end\n"), "2:1: 'rdb_end' without 'rdb_begin'");
  EXPECT_EQ(complaint("rdb_begin\nrdb_begin\nrdb_end\n"),
            "2:1: 'rdb_begin' inside the region that begins at line 1; regions cannot be nested");
  EXPECT_EQ(complaint("if (x) rdb_begin\ny\nrdb_end\n").substr(0, 5), "2 dia");
  EXPECT_EQ(complaint("if (x) { rdb_begin rdb_end }\n"), "1:10: 'rdb_begin' must stand alone on its line");
  EXPECT_EQ(complaint("#define D \\\n  rdb_begin \\\n  x\n"), "2:3: 'rdb_begin' inside a macro definition");
  EXPECT_EQ(complaint("#ifdef rdb_begin\n#endif\n"), "1:8: 'rdb_begin' in a preprocessing directive");
  EXPECT_EQ(complaint("rdb_begin_globals\nx\nrdb_end\n"),
            "3:1: 'rdb_end' ends a region that 'rdb_begin_globals' began at line 1");
  EXPECT_EQ(complaint("/* a\n*/ rdb_begin\nx\nrdb_end\n").substr(0, 5), "2 dia");
  EXPECT_EQ(complaint("rdb_begin\nx\nrdb_end /* a\n*/ b\n").substr(0, 5), "2 dia");
  EXPECT_EQ(complaint("#ifdef X\nrdb_begin\nx\nrdb_end\n#else\ny\n#endif\n").substr(0, 12), "5:1: #else b");
  EXPECT_EQ(complaint("#ifdef X\nrdb_begin\nx\n#endif\nrdb_end\n").substr(0, 11), "4:1: #endif");
  EXPECT_EQ(complaint("rdb_begin\n#ifdef X\nrdb_end\n#endif\n").substr(0, 4), "1:1:");
  EXPECT_EQ(complaint("rdb_be\\\ngin\nx\n").substr(0, 4), "1:1:");
}

TEST(Regions, LineMapAnswersBothWays) {
  LineMap map({{8, 9}, {2, 3}, {4, 4}});
  EXPECT_EQ(map.removed(), (std::vector<LineRange>{{2, 4}, {8, 9}}));
  EXPECT_EQ(map.to_edited(1), 1u);
  EXPECT_EQ(map.to_edited(2), 5u);
  EXPECT_EQ(map.to_edited(4), 7u);
  EXPECT_EQ(map.to_edited(5), 10u);
  EXPECT_EQ(map.to_stripped(10), 5u);
  EXPECT_EQ(map.to_stripped(3), std::nullopt);
  EXPECT_EQ(map.next_stripped(3), 2u);
  EXPECT_EQ(map.next_stripped(8), 5u);
  for (unsigned line = 1; line < 20; ++line)
    EXPECT_EQ(map.to_stripped(map.to_edited(line)), line);
}

TEST(Views, ModuleTextKeepsRegionsAndM0Lines) {
  std::string_view text = "a\n#ifdef D\nrdb_begin\nx\nrdb_end\n#endif\nb\n";
  View view = module_text(
      text, scan(text), [](const Region& r) { return "{ enter(" + std::to_string(r.number) + ");"; },
      [](const Region&) { return "}"; });
  EXPECT_EQ(view.text, "a\n#line 2\n\n{ enter(1);\nx\n}\n\n#line 2\nb\n");
  EXPECT_EQ(view.edited_lines, (std::vector<unsigned>{1, 0, 2, 3, 4, 5, 6, 0, 7}));
}

TEST(Views, ModuleTextLeavesIfZeroAlone) {
  std::string_view text = "#if 0\nrdb_begin\nx\nrdb_end\n#endif\nb\n";
  EXPECT_EQ(module_text(text, scan(text)).text,
            "#line 1\n#if 0\nrdb_begin\nx\nrdb_end\n#endif\n#line 1\nb\n");
}

TEST(Views, LabelsStandBeforeTheLineThatFollows) {
  std::string_view text = "a\nrdb_begin\nx\nrdb_end\nrdb_begin\nx\nrdb_end\nb\nrdb_begin\ny\nrdb_end";
  auto label = [](const Region& r) { return "L" + std::to_string(r.number) + ":;"; };
  View view = label_text(text, scan(text), label);
  EXPECT_EQ(view.text, "a\nL1:;L2:;\n#line 2\nb\nL3:;\n");
  EXPECT_EQ(view.edited_lines, (std::vector<unsigned>{1, 8, 0, 8, 11}));
}

TEST(Views, LineDirectivesOfTheFileAreRespected) {
  std::string_view text = "a\n#line 100 \"g.y\"\nb\nrdb_begin\nx\nrdb_end\nc\n";
  View view = label_text(text, scan(text), [](const Region&) { return std::string("L:;"); });
  EXPECT_EQ(view.text, "a\n#line 100 \"g.y\"\nb\nL:;\n#line 101\nc\n");
}

// Whatever the bytes: no crash, and every line is kept or removed exactly once.
TEST(Regions, BetweenCases) {
  auto is_between = [](const std::string& before, const std::string& behind) {
    Scan result = scan(before + "\nrdb_begin\n  f();\nrdb_end\n" + behind + "\n");
    return result.regions.size() == 1 && result.regions[0].between_cases;
  };
  EXPECT_TRUE(is_between("switch (x) {\ncase 1:", "case 2:"));
  EXPECT_TRUE(is_between("switch (x) { case 1: // one", "  // two\n\n  default: g();"));
  Scan two = scan("case 1:\nrdb_begin\nrdb_end\nrdb_begin\nrdb_end\ncase 2:\n");
  EXPECT_TRUE(two.regions[0].between_cases && two.regions[1].between_cases);
  EXPECT_FALSE(is_between("case 1: x = 2;", "case 2:"));
  EXPECT_FALSE(is_between("case 1:", "break;"));
  EXPECT_FALSE(is_between("case 1:", "default_value = 3;"));
  EXPECT_FALSE(is_between("again:", "case 2:"));
  EXPECT_FALSE(is_between("case 1:\n#if X", "case 2:"));
  EXPECT_FALSE(is_between("", ""));
}

TEST(Regions, AnyTextIsTakenApartWhole) {
  const std::string_view pieces[] = {"rdb_begin", "rdb_end", "\n",  "\"",   "'",        "/*",      "*/", "//",
                                     "\\\n",      "R\"(",    ")\"", "#if ", "#endif\n", "#else\n", ";",  "x",
                                     "#define ",  "1'0",     "\\",  " ",    "#if 0\n",  "\r\n",    "\0"};
  uint32_t state = 12345;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      state = state * 1664525 + 1013904223;
      text += pieces[(state >> 16) % std::size(pieces)];
    }
    Scan result = scan(text);
    std::string stripped = stripped_text(text, result);
    unsigned removed = 0;
    for (const LineRange& range : result.lines.removed())
      removed += range.last - range.first + 1;
    auto count = [](std::string_view t) {
      return static_cast<unsigned>(std::count(t.begin(), t.end(), '\n') + (!t.empty() && t.back() != '\n'));
    };
    ASSERT_EQ(count(text), count(stripped) + removed) << text;
    module_text(text, result);
    label_text(text, result, [](const Region&) { return std::string("L:;"); });
  }
}

} // namespace
