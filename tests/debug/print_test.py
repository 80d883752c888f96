# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb print: values at a line of a recorded run, without a build of the user's."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

CLANG = "/usr/bin/clang-22"

PROGRAM = r"""#include <stdio.h>
#include <string.h>
struct point { int x; const char* name; };
static int calls;
static int twice(int n) { calls++; return 2 * n; }
int work(int n) {
  struct point p = {n, "pt"};
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += twice(i);
  }
  p.x = sum;
  return p.x + (int)strlen(p.name);
}
int main(void) {
  for (int k = 1; k <= 3; k++) {
    printf("%d\n", work(k));
  }
  return 0;
}
"""

CXX_PROGRAM = r"""#include <map>
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
"""


@harness.needs_compiler
class Print(harness.TestCase):
    def record(self, name, source, *flags, cxx=False):
        self.write(name, source)
        self.run_program([CLANG, *flags, name, "-o", "program", *(["-lstdc++"] if cxx else [])], status=0)
        self.rdb("record", "--checksum", "-q", "-o", "trace", "./program")

    def printed(self, *words, status=0):
        result = self.rdb("print", "trace", *words, status=status)
        return [re.sub(r"^\[\d+ \d+ ", "[", line) for line in result.out.splitlines()]

    def test_expressions_each_time_the_line_is_reached(self):
        for level in "-O0", "-O2":
            with self.subTest(level=level):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.record("work.c", PROGRAM, level, "-fno-inline")
                self.assertEqual(self.printed("work.c:10", "i, n", "--", level, "-fno-inline"),
                                 [f"[work.c:10] i = {i}, n = {n}" for n in (1, 2, 3) for i in range(n)])

    def test_all_kinds_of_values(self):
        self.record("work.c", PROGRAM, "-g", "-O0")
        self.assertEqual(self.printed("work.c:12", "n, sum, p, p.name, &p == 0, twice(7), calls"),
                         [f'[work.c:12] n = {n}, sum = {n * (n - 1)}, p = {{x = {n}, name = "pt"}}, p.name = "pt", &p == 0 = 0, '
                          f"twice(7) = 14, calls = {n * (n + 1) // 2 + 1}" for n in (1, 2, 3)])

    def test_what_program_functions_change_is_undone(self):
        self.record("work.c", PROGRAM, "-O0")
        # In the same hit the counter shows the call's effect or not, by the order of the expressions; in the next it does not.
        self.assertEqual(self.printed("work.c:10", "calls, twice(1)"), [f"[work.c:10] calls = {n}, twice(1) = 2" for n in range(6)])

    def test_formats_conditions_changes_and_limits(self):
        self.record("work.c", PROGRAM, "-O0")
        self.assertEqual(self.printed("work.c:10", '"%d/%d", i, n'), ["[work.c:10] " + t for t in ("0/1", "0/2", "1/2", "0/3", "1/3", "2/3")])
        self.assertEqual(self.printed("work.c:10", "i", "--if", "n == 3 && i"), ["[work.c:10] i = 1", "[work.c:10] i = 2"])
        self.assertEqual(self.printed("work.c:10", "i", "--if", "n == 3", "--max-hits", "2"), ["[work.c:10] i = 0", "[work.c:10] i = 1"])
        self.assertEqual(self.printed("work.c:10", "n", "--changes"), [f"[work.c:10] n = {n}" for n in (1, 2, 3)])
        self.assertEqual(self.printed("work.c:10", "n", "--max-hits", "2"), ["[work.c:10] n = 1", "[work.c:10] n = 2"])
        self.assertEqual(self.printed("work.c:10", "--code", 'printf("%s\\n", p.name)', "--max-hits", "1"), ["[work.c:10] pt"])

    def test_several_places(self):
        self.record("work.c", PROGRAM, "-O0")
        self.assertEqual(self.printed("work.c:8", "n", "work.c:17", "k"),
                         [line for n in (1, 2, 3) for line in (f"[work.c:17] k = {n}", f"[work.c:8] n = {n}")])

    def test_json_and_csv(self):
        self.record("work.c", PROGRAM, "-O0")
        objects = [json.loads(line) for line in self.rdb("print", "trace", "work.c:12", "n, p.name", "--json", status=0).out.splitlines()]
        self.assertEqual([o["values"] for o in objects], [{"n": str(n), "p.name": '"pt"'} for n in (1, 2, 3)])
        self.assertEqual({o["place"] for o in objects}, {"work.c:12"})
        self.assertEqual(sorted(o["time"] for o in objects), [o["time"] for o in objects])
        rows = self.rdb("print", "trace", "work.c:12", "n, sum", "--csv", status=0).out.splitlines()
        self.assertEqual(rows[0], "time,thread,place,n,sum")
        self.assertEqual([row.split(",")[2:] for row in rows[1:]], [["work.c:12", str(n), str(n * (n - 1))] for n in (1, 2, 3)])

    def test_cxx_containers_and_methods(self):
        self.record("items.cc", CXX_PROGRAM, "-O0", cxx=True)
        self.assertEqual(self.printed("items.cc:9", "item.name, item.doubled(), items.size(), index, sum"),
                         ['[items.cc:9] item.name = "bolt", item.doubled() = 6, items.size() = 2, index = {"bolt": 3}, sum = 0',
                          '[items.cc:9] item.name = "nut", item.doubled() = 8, items.size() = 2, index = {"bolt": 3, "nut": 4}, sum = 3'])

    def test_flags_come_from_the_compilation_database(self):
        os.makedirs(self.path("include"))
        self.write("include/limit.h", "#define LIMIT 4\n")
        source = '#include "limit.h"\nint main(void) {\n  int sum = EXTRA;\n  for (int i = 0; i < LIMIT; i++)\n    sum += i;\n  return sum;\n}\n'
        self.write("flags.c", source)
        flags = ["-O1", "-Iinclude", "-DEXTRA=5"]
        self.run_program([CLANG, *flags, "-c", "flags.c", "-o", "flags.o"], status=0)
        self.run_program([CLANG, "flags.o", "-o", "program"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./program", status=11)
        # Without them the header is not found, and that is said.
        self.assertIn("limit.h", self.rdb("print", "trace", "flags.c:6", "LIMIT", status=2).err)
        database = [{"directory": self.tmp, "file": "flags.c", "command": "clang-22 " + " ".join(flags) + " -c flags.c -o flags.o"}]
        self.write("compile_commands.json", json.dumps(database))
        self.assertEqual(self.printed("flags.c:6", "LIMIT"), ["[flags.c:6] LIMIT = 4"])
        os.remove(self.path("compile_commands.json"))
        self.assertEqual(self.printed("flags.c:6", "LIMIT", "--", *flags), ["[flags.c:6] LIMIT = 4"])

    def test_a_source_that_is_not_the_recorded_one_is_refused(self):
        self.record("work.c", PROGRAM, "-O0")
        self.write("work.c", PROGRAM.replace("2 * n", "3 * n"))
        self.assertIn("another source or with other flags", self.rdb("print", "trace", "work.c:17", "k", status=2).err)

    def test_mistakes_are_told_at_what_was_typed(self):
        self.record("work.c", PROGRAM, "-O0")
        for words, said in ((["work.c:17", "kk"], r"'kk':1: error: use of undeclared identifier 'kk'"),
                            (["work.c:17", "k, k +"], r"'k \+':\d+: error: expected expression"),
                            (["work.c:99", "k"], r"work.c has only 20 lines"),
                            (["work.c", "k"], r"'work.c' is not a place"),
                            (["work.c:17", "k,,k"], r"has an empty expression"),
                            (["no.c:17", "k"], r"there is no file 'no.c'"),
                            ([], r"nothing to print")):
            with self.subTest(words=words):
                self.assertRegex(self.rdb("print", "trace", *words, status=2).err, r"\Ardb: print: .*" + said)

    def test_a_place_that_is_never_reached(self):
        self.record("work.c", PROGRAM.replace("return 0;", "if (calls < 0)\n    calls = 1;\n  return 0;"), "-O0")
        result = self.rdb("print", "trace", "work.c:18", "calls", "--from", "999999999", status=0)
        self.assertEqual(result.out, "")
        self.assertIn("not reached", result.err)

    def test_nothing_is_left_behind(self):
        self.record("work.c", PROGRAM, "-O0")
        before = sorted(os.listdir(self.tmp))
        self.rdb("print", "trace", "work.c:17", "k", status=0, env={"TMPDIR": self.tmp})
        self.assertEqual(sorted(os.listdir(self.tmp)), before)


if __name__ == "__main__":
    harness.main()
