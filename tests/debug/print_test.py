# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb print: values at a line of a recorded run, without a build of the user's."""
import json
import os
import re

import harness

CLANG = "/usr/bin/clang-22"

PROGRAM = harness.program_text(__file__, "print/program.c")

CXX_PROGRAM = harness.program_text(__file__, "print/program.cc")


THREADS = harness.program_text(__file__, "print/threads.c")

TEMPLATES = harness.program_text(__file__, "print/templates.cc")

INLINED = harness.program_text(__file__, "print/inlined.c")


TYPES = harness.program_text(__file__, "print/types.c")
NODE = ('{key = 3, left = ADDRESS, right = null, in = {a = {1, 2, 3}, name = "bob", c = GREEN}, narrow = 5, wide = -2, f = '
        'F_B, d = 2.5, '
        'call = ADDRESS <_IO_puts at libc.so.6>, i = 258, bytes = {2, 1, 0, 0}, text = "he\\"llo\\n"}')
SHOWN = (("n", f"ADDRESS -> {NODE}"), ("*n", NODE), ("copy", NODE), ("p", "ADDRESS -> 4"), ("s", '"tab\\t"'), ("v", "ADDRESS"),
         ("atomic", "7"),
         ("small", "-3"), ("byte", "200"), ("yes", "true"), ("letter", "39 '\\''"), ("precise", "1.5"),
         ("big", "-1267650600228229401496703205376"),
         ("matrix", "{{1, 2, 3}, {4, 5, 6.5}}"), ("matrix[1]", "{4, 5, 6.5}"), ("copy.in.name", '"bob"'), ("copy.wide", "-2"),
         ("n->f", "F_B"),
         ("names", '{"one", "two", null}'), ("c", "BLUE"), ("odd_color", "77"), ("f", "F_A | F_C"), ("odd", "8"), ("none", "0"),
         ("z", "{1, 2}"),
         ("bad", "0x10 -> <unreadable>"), ("nothing", "null"), ("to_pointer", "ADDRESS -> ADDRESS"),
         ("bad_text", "0x20 <unreadable>"),
         ("line", '"' + 200 * "x" + '"...'), ("many", "{1" + 15 * ", 0" + ", ...}"), ("third", "0.3333333"), ("c == BLUE", "1"),
         ("1 + 2L", "3"),
         ('"text"', '"text"'), ("work", "ADDRESS <work at program>"), ("sizeof n", "8"), ("(char)65", "65 'A'"),
         ("&copy.key", "ADDRESS -> 3"))
CXX_TYPES = harness.program_text(__file__, "print/types.cc")
BOLT = '{id = 1, name = "bolt", sizes = {1, 2}, price = 2.5, kind = Large, next = null}'
EMPTY = '{id = 1, name = "", sizes = {}, price = nothing, kind = Large, next = null}'
CXX_SHOWN = (("shop", f"{{items = {{{BOLT}, {EMPTY}}}, stock = std::map of 1, best = ADDRESS}}"),
             ("shop.items", f"{{{BOLT}, {EMPTY}}}"),
             ("shop.best", f"ADDRESS -> {BOLT}"), ("*shop.best", BOLT), ("shared", f"ADDRESS -> {BOLT}"), ("key", '"key"'),
             ("list", 'ADDRESS -> {"x", "y"}'),
             ("view", '"view"'), ("none", "nothing"), ("pair", '1: "p"'), ("set", "{1, 2, 3}"), ("kinds", "{1: Small}"),
             ("flags", "{true, false, true}"),
             ("shop.items[0].kind", "Large"), ("key.size()", "3"), ("shop.stock", '{"bolt": 4}'),
             ("&shop.stock", 'ADDRESS -> {"bolt": 4}'), ("nowhere", "null"), ("&shop.items[1].id", "ADDRESS -> 1"))


@harness.needs_compiler
class Print(harness.TestCase):
    def record(self, name, source, *flags, cxx=False):
        self.write(name, source)
        self.run_program([CLANG, *flags, name, "-o", "program", *(["-lstdc++"] if cxx else [])], status=0)
        self.rdb("record", "--checksum=calls", "-q", "-o", "trace", "./program")

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
                          f"twice(7) = 14, calls = {n * (n + 1) // 2}" for n in (1, 2, 3)])

    def test_what_program_functions_change_is_undone(self):
        self.record("work.c", PROGRAM, "-O0")
        self.assertEqual(self.printed("work.c:10", "twice(1), calls"),
                         [f"[work.c:10] twice(1) = 2, calls = {n}" for n in range(6)])

    def test_formats_conditions_changes_and_limits(self):
        self.record("work.c", PROGRAM, "-O0")
        self.assertEqual(self.printed("work.c:10", '"%d/%d", i, n'),
                         ["[work.c:10] " + t for t in ("0/1", "0/2", "1/2", "0/3", "1/3", "2/3")])
        self.assertEqual(self.printed("work.c:10", "i", "--if", "n == 3 && i"), ["[work.c:10] i = 1", "[work.c:10] i = 2"])
        self.assertEqual(self.printed("work.c:10", "i", "--if", "n == 3", "--max-hits", "2"),
                         ["[work.c:10] i = 0", "[work.c:10] i = 1"])
        self.assertEqual(self.printed("work.c:10", "n", "--changes"), [f"[work.c:10] n = {n}" for n in (1, 2, 3)])
        self.assertEqual(self.printed("work.c:10", "n", "--max-hits", "2"), ["[work.c:10] n = 1", "[work.c:10] n = 2"])
        self.assertEqual(self.printed("work.c:10", "--code", 'printf("%s\\n", p.name)', "--max-hits", "1"), ["[work.c:10] pt"])

    def test_several_places(self):
        self.record("work.c", PROGRAM, "-O0")
        self.assertEqual(self.printed("work.c:8", "n", "work.c:17", "k"),
                         [line for n in (1, 2, 3) for line in (f"[work.c:17] k = {n}", f"[work.c:8] n = {n}")])

    def test_json_and_csv(self):
        self.record("work.c", PROGRAM, "-O0")
        objects = [json.loads(line)
                   for line in self.rdb("print", "trace", "work.c:12", "n, p.name", "--json", status=0).out.splitlines()]
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
                          '[items.cc:9] item.name = "nut", item.doubled() = 8, items.size() = 2, index = {"bolt": 3, "nut": '
                          '4}, sum = 3'])

    def test_values_of_every_type(self):
        self.record("types.c", TYPES, "-O0")
        shown = json.loads(self.rdb("print", "trace", "types.c:25", ", ".join(e for e, _ in SHOWN), "--json",
                                    status=0).out)["values"]
        for expression, text in SHOWN:
            with self.subTest(expression):
                self.assertEqual(re.sub(r"0x[0-9a-f]{3,}", "ADDRESS", shown[expression]), text)

    def test_cxx_values_of_every_type(self):
        self.record("types.cc", CXX_TYPES, "-O0", cxx=True)
        shown = json.loads(self.rdb("print", "trace", "types.cc:22", ", ".join(e for e, _ in CXX_SHOWN), "--json",
                                    status=0).out)["values"]
        for expression, text in CXX_SHOWN:
            with self.subTest(expression):
                self.assertEqual(re.sub(r"0x[0-9a-f]{3,}", "ADDRESS", shown[expression]), text)

    def test_flags_come_from_the_compilation_database(self):
        os.makedirs(self.path("include"))
        self.write("include/limit.h", "#define LIMIT 4\n")
        source = ('#include "limit.h"\nint main(void) {\n  int sum = EXTRA;\n'
                  '  for (int i = 0; i < LIMIT; i++)\n    sum += i;\n  return sum;\n}\n')
        self.write("flags.c", source)
        flags = ["-O1", "-Iinclude", "-DEXTRA=5"]
        self.run_program([CLANG, *flags, "-c", "flags.c", "-o", "flags.o"], status=0)
        self.run_program([CLANG, "flags.o", "-o", "program"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./program", status=11)
        # Without them the header is not found, and that is said.
        self.assertIn("limit.h", self.rdb("print", "trace", "flags.c:6", "LIMIT", status=2).err)
        database = [{"directory": self.tmp, "file": "flags.c",
                     "command": "clang-22 " + " ".join(flags) + " -c flags.c -o flags.o"}]
        self.write("compile_commands.json", json.dumps(database))
        self.assertEqual(self.printed("flags.c:6", "LIMIT"), ["[flags.c:6] LIMIT = 4"])
        os.remove(self.path("compile_commands.json"))
        self.assertEqual(self.printed("flags.c:6", "LIMIT", "--", *flags), ["[flags.c:6] LIMIT = 4"])

    def test_a_source_that_is_not_the_recorded_one_is_refused(self):
        self.record("work.c", PROGRAM, "-O0")
        self.write("work.c", PROGRAM.replace("2 * n", "3 * n"))
        self.assertIn("compiled from another source, by another compiler or with other flags",
                      self.rdb("print", "trace", "work.c:17", "k", status=2).err)

    def test_a_source_that_has_changed_is_told_by_its_checksum(self):
        self.record("work.c", PROGRAM, "-O0", "-g")
        self.write("work.c", PROGRAM.replace("2 * n", "3 * n"))
        self.assertIn("work.c has changed since the recorded program was built",
                      self.rdb("print", "trace", "work.c:17", "k", status=2).err)

    def test_every_thread(self):
        for level, line, what, values in (("-O0", 6, "number, squares[number]", "number = {0}, squares[number] = {1}"),
                                          ("-O2", 5, "number", "number = {0}")):
            with self.subTest(level=level):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.record("threads.c", THREADS, level, "-pthread")
                lines = self.rdb("print", "trace", f"threads.c:{line}", what, "--", level, "-pthread", status=0).out.splitlines()
                self.assertEqual(sorted(line.split("] ", 1)[1] for line in lines), [values.format(n, n * n) for n in range(4)])
                self.assertEqual(len({line.split()[1] for line in lines}), 4)

    def test_every_instance_of_a_template(self):
        for level in "-O0", "-O2":
            with self.subTest(level=level):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.record("pair.cc", TEMPLATES, level, "-fno-inline", cxx=True)
                self.assertEqual(self.printed("pair.cc:7", "first, second, result", "--", level, "-fno-inline"),
                                 ["[pair.cc:7] first = 1, second = 2, result = 2",
                                  "[pair.cc:7] first = 2.5, second = 1.5, result = 2.5"])

    def test_inlined_functions(self):
        self.write("clamp.c", INLINED)
        self.run_program([CLANG, "-O2", "-g", "clamp.c", "-o", "program"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./program", "3", "9", status=0)
        self.assertEqual(self.printed("clamp.c:4", "value, most", "--", "-O2", "-g"),
                         [f"[clamp.c:4] value = {value}, most = {most}" for value in (3, 9) for most in (5, 7)])

    def test_shared_libraries(self):
        self.write("half.c", "int half(int n) {\n  int result = n / 2;\n  return result;\n}\n")
        self.write("main.c", "int half(int);\nint main(void) {\n  int n = half(8);\n  return half(n) - 2;\n}\n")
        self.run_program([CLANG, "-O0", "-fPIC", "-shared", "half.c", "-o", "libhalf.so"], status=0)
        self.run_program([CLANG, "-O0", "main.c", "./libhalf.so", "-o", "program"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./program", status=0)
        self.assertEqual(self.printed("half.c:3", "n, result", "--", "-O0", "-fPIC"),
                         ["[half.c:3] n = 8, result = 4", "[half.c:3] n = 4, result = 2"])
        # Both at once: each file's region goes to where its code is.
        self.write("compile_commands.json", json.dumps([
            {"directory": self.tmp, "file": "half.c", "command": "clang-22 -O0 -fPIC -c half.c"},
            {"directory": self.tmp, "file": "main.c", "command": "clang-22 -O0 -c main.c"}]))
        self.assertEqual(self.printed("half.c:3", "n", "main.c:4", "n"),
                         ["[half.c:3] n = 8", "[main.c:4] n = 4", "[half.c:3] n = 4"])

    def test_a_value_that_cannot_be_read_once(self):
        self.record("null.c",
                    "static int one = 1;\nint main(void) {\n  for (int i = 0; i < 3; i++) {\n    int* p = i == 1 ? 0 : &one;\n"
                    "    one += p != 0;\n  }\n"
                    "  return 0;\n}\n", "-O0")
        lines = self.printed("null.c:5", "i, *p")
        self.assertEqual([lines[0], lines[2]], ["[null.c:5] i = 0, *p = 1", "[null.c:5] i = 2, *p = 2"])
        self.assertRegex(lines[1], r"i = 1, \*p = <.*Segmentation fault.*>")

    def test_many_hits_in_little_memory(self):
        self.record("loop.c",
                    "int main(void) {\n  long sum = 0;\n  for (long i = 0; i < 100000; i++) {\n    sum += i;\n  }\n  return "
                    "sum < 0;\n}\n", "-O0")
        script = ("import resource, subprocess, sys\n"
                  "p = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
                  "print(len(p.stdout.splitlines()), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        result = self.run_program(["/usr/bin/python3", "-c", script, harness.rdb(), "print", self.path("trace"), "loop.c:4",
                                   "i, sum"], status=0)
        count, kibibytes = map(int, result.out.split())
        self.assertEqual(count, 100000)
        self.assertLess(kibibytes, 200 * 1024)

    def test_mistakes_are_told_at_what_was_typed(self):
        self.record("work.c", PROGRAM, "-O0")
        for words, said in ((["work.c:17", "kk"], r"'kk':1: error: use of undeclared identifier 'kk'"),
                            (["work.c:17", "k, k +"], r"'k \+':\d+: error: expected expression"),
                            (["work.c:99", "k"], r"work.c has only 20 lines"),
                            (["work.c", "k"], r"'work.c' is not a place"),
                            (["work.c:17", "k,,k"], r"has an empty expression"),
                            ([], r"nothing to print")):
            with self.subTest(words=words):
                self.assertRegex(self.rdb("print", "trace", *words, status=2).err, r"\Ardb: print: .*" + said)
        said = self.rdb("print", "trace", "no.c:17", "k", status=2).err
        self.assertIn("there is no file 'no.c'", said)
        self.assertIn("there is no no.c:17 in what was recorded", said)

    def test_a_place_that_is_never_reached(self):
        self.record("work.c", PROGRAM.replace("return 0;", "if (calls < 0)\n    calls = 1;\n  return 0;"), "-O0")
        result = self.rdb("print", "trace", "work.c:18", "calls", "--from", "999999999", status=0)
        self.assertEqual(result.out, "")
        self.assertIn("not reached", result.err)

    def test_a_program_that_died(self):
        self.record("work.c", PROGRAM.replace("return 0;", "if (calls > 0)\n    __builtin_trap();\n  return 0;"), "-O0")
        self.assertEqual(self.printed("work.c:17", "k"), [f"[work.c:17] k = {k}" for k in (1, 2, 3)])
        self.assertIn("not reached", self.rdb("print", "trace", "work.c:21", "calls", status=0).err)

    def test_nothing_is_left_behind(self):
        self.record("work.c", PROGRAM, "-O0")
        before = sorted(os.listdir(self.tmp))
        self.rdb("print", "trace", "work.c:17", "k", status=0, env={"TMPDIR": self.tmp})
        self.assertEqual(sorted(os.listdir(self.tmp)), before)


class ByDebugInformation(harness.TestCase):
    """Programs that rdb-clang cannot compile again."""

    def record(self, *flags):
        self.write("work.c", PROGRAM)
        self.run_program(["/usr/bin/gcc", *flags, "work.c", "-o", "program"], status=0)
        self.rdb("record", "--checksum=calls", "-q", "-o", "trace", "./program", status=0)

    def printed(self, *words):
        result = self.rdb("print", "trace", *words, status=0)
        self.assertIn("was not compiled by clang", result.err)
        return [re.sub(r"^\[\d+ \d+ ", "[", line) for line in result.out.splitlines()]

    def test_values(self):
        self.record("-g", "-O0")
        lines = [re.sub(r"0x[0-9a-f]+ ", "", line) for line in self.printed("work.c:12", "n, sum, p.name, p, calls, twice(7)")]
        self.assertEqual(lines, [f'[work.c:12] n = {n}, sum = {n * (n - 1)}, p.name = "pt", p = {{x = {n}, name = "pt"}}, '
                                 f"calls = {n * (n + 1) // 2}, twice(7) = 14" for n in (1, 2, 3)])
        self.assertEqual(self.printed("work.c:10", '"%d of %d", i, n', "--if", "n == 3 && i"),
                         ["[work.c:10] 1 of 3", "[work.c:10] 2 of 3"])
        self.assertEqual(self.printed("work.c:10", "n", "--changes", "--max-hits", "2"),
                         ["[work.c:10] n = 1", "[work.c:10] n = 2"])
        times = [int(line.split()[0][1:]) for line in self.rdb("print", "trace", "work.c:12", "n", status=0).out.splitlines()]
        self.assertEqual(self.printed("work.c:12", "n", "--from", str(times[1]), "--to", str(times[1])), ["[work.c:12] n = 2"])

    def test_optimised_values_are_right_or_missing(self):
        self.record("-g", "-O2", "-fno-inline")
        lines = self.printed("work.c:10", "n, i, sum")
        self.assertTrue(lines)
        expected = [(n, i, i * (i - 1)) for n in (1, 2, 3) for i in range(n)]
        for line, values in zip(lines, expected):
            shown = re.fullmatch(r"\[work\.c:10\] n = (.*), i = (.*), sum = (.*)", line).groups()
            for text, value in zip(shown, values):
                self.assertIn(text, (str(value), "<optimized out>", "<not available here>"), line)

    def test_mistakes(self):
        self.record("-g", "-O0")
        for words, said in ((["work.c:12", "m"], r"work\.c: 'm': No symbol \"m\""),
                            (["work.c:12", "n +"], r"'n \+': A syntax error"),
                            (["work.c:12", "--code", "n++"], r"--code needs code that rdb-clang can compile"),
                            (["@nothing", "1"], r"there is no nothing in what was recorded")):
            with self.subTest(words=words):
                self.assertRegex(self.rdb("print", "trace", *words, status=2).err, r"(?m)^rdb: print: .*" + said)

    def test_without_debug_information(self):
        """A program of Debian's, of which there are only its exported symbols."""
        self.write("steps.sh", "false\ntrue\n(exit 7)\necho done\n")
        self.rdb("record", "-q", "-o", "trace", "/bin/bash", "steps.sh", status=0)
        result = self.rdb("print", "trace", "@execute_command", "(int)last_command_exit_value", "--changes", status=0)
        self.assertEqual([line.split("] ")[1] for line in result.out.splitlines()],
                         [f"(int)last_command_exit_value = {n}" for n in (0, 1, 0, 7)])
        self.assertIn("has unknown type", self.rdb("print", "trace", "@execute_command", "last_command_exit_value", status=2).err)

    def test_lines_reached_and_variables(self):
        self.record("-g", "-O0")
        table = [line.split(maxsplit=2)
                 for line in self.rdb("print", "--list", "work.c:6-17", "trace", status=0).out.splitlines()[1:]]
        self.assertEqual({int(row[0]): int(row[1]) for row in table},
                         {6: 3, 7: 3, 8: 3, 9: 9, 10: 6, 12: 3, 13: 3, 14: 3, 15: 1, 16: 4, 17: 3})
        variables = {int(row[0]): row[2] if len(row) > 2 else "" for row in table}
        self.assertEqual(variables[10], "i, n, p, sum")
        self.assertEqual(variables[17], "k")
        lines = [json.loads(line)
                 for line in self.rdb("print", "--list", "work.c:10", "trace", "--json", status=0).out.splitlines()]
        self.assertEqual(lines, [{"place": "work.c:10", "reached": 6, "available": ["i", "n", "p", "sum"], "unavailable": []}])

    def test_list_refuses_what_it_cannot_show(self):
        self.record("-O0")
        for words, said in ((["work.c:1-9"], "compile with -g"), (["work.c:9-1"], "is not a range"),
                            (["work.c:x"], "is not a range")):
            with self.subTest(words=words):
                self.assertIn(said, self.rdb("print", "--list", *words, "trace", status=2).err)


if __name__ == "__main__":
    harness.main()
