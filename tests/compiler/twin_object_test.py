# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The twin of a unit, as a bundle has it: an object that is linkable and does what the source says, calls each region
where it stands, and tells in its section .rdbtwin what a replay needs to know of its functions."""
import os
import re
import unittest

import harness
from toolchain import CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, CompilerTest

RESULTS = harness.program_text(__file__, "twin_object/results.c")
STATICS = harness.program_text(__file__, "twin_object/statics.c")
ASSEMBLY = harness.program_text(__file__, "twin_object/assembly.c")
OBJECTS = harness.program_text(__file__, "twin_object/objects.cc")

# What code that lies anywhere needs: addresses in data, code and data nearby, tables for what may be far, thread-locals.
RELOCATIONS = {"R_X86_64_64", "R_X86_64_PC32", "R_X86_64_PLT32", "R_X86_64_GOTPCREL", "R_X86_64_GOTPCRELX",
               "R_X86_64_REX_GOTPCRELX", "R_X86_64_TPOFF32", "R_X86_64_GOTTPOFF"}


def fields(line):
    return [re.sub(r"\\(.)", r"\1", word[1:-1]) if word[0] == '"' else word
            for word in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)]


class Facts:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.records = [fields(line) for line in self.lines]

    def of(self, kind):
        return [record[1:] for record in self.records if record[0] == kind]

    def functions(self):
        """By symbol: name, file, line, linkage, result, arguments, flags."""
        return {record[0]: record[1:] for record in self.of("function")}

    def flags(self, symbol):
        return set(self.functions()[symbol][6].split(",")) - {"-"}


class TwinObject(CompilerTest):
    def build(self, name, text, *options):
        """The path of the program's one twin, and its facts."""
        self.write(name, text)
        compiler = RDB_CLANGXX if name.endswith(".cc") else RDB_CLANG
        self.run_command([compiler, "-Wno-rdb-lost-region", *options, name, "-o", "prog"])
        twins = os.listdir(os.path.join(self.dir, "prog.rdb", "twins"))
        self.assertEqual(len(twins), 1)
        twin = os.path.join(self.dir, "prog.rdb", "twins", twins[0])
        self.run_command(["/usr/bin/llvm-objcopy-22", "--dump-section", ".rdbtwin=facts", twin, "copy.o"])
        facts = Facts(self.read("facts").decode())
        self.assertEqual(facts.lines[0], "rdb-twin 1")
        self.assertEqual(facts.lines[-1], "end")
        self.assertEqual(facts.of("unit"), [[twins[0][:-2], name, self.dir]])
        return twin, facts

    def readelf(self, *words):
        return self.run_command(["/usr/bin/readelf", "-W", *words]).stdout

    def test_results_and_arguments(self):
        _, facts = self.build("results.c", RESULTS, "-O1")
        expected = {
            "nothing": ("none", "-"), "truth": ("rax:1", "rdi"), "small": ("rax:1", "rdi"), "shorter": ("rax:2", "rdi,rsi"),
            "number": ("rax:4", "rdi,xmm0,stack"), "wide": ("rax:8", "-"), "widest": ("rax:8,rdx:8", "rdi,rsi"),
            "single": ("xmm0:4", "xmm0"), "twofold": ("xmm0:8", "xmm0"), "extended": ("st0", "stack"),
            "pair": ("xmm0:8,xmm1:8", "xmm0,xmm1"), "long_pair": ("st0,st1", "-"), "doubles": ("xmm0:8,xmm1:8", "-"),
            "mix": ("rax:4,xmm0:8", "rdi,xmm0"), "floats": ("xmm0:8,xmm1:4", "xmm0,xmm1"), "ints": ("rax:8,rdx:4", "rdi,rsi"),
            "with_holes": ("rax:8", "rdi"), "in_memory": ("st0", "stack"), "memory": ("rax:8", "rdi,rsi"),
            "pointer": ("rax:8", "rdi"), "vector": ("xmm0:16", "xmm0"), "many": ("rax:4", "rdi,rsi,rdx,rcx,r8,r9,stack"),
            "late": ("rax:4", "rdi,rsi,rdx,rcx,r8,r9,stack"), "variadic": ("rax:4", "rdi,..."), "main": ("rax:4", "rdi,rsi")}
        functions = facts.functions()
        self.assertEqual({name: tuple(functions[name][4:6]) for name in expected}, expected)
        self.assertEqual(facts.of("padding"), [["with_holes", "rax", "0xffffff00"], ["bit_fields", "rax", "0xffff0000fff803f8"]])
        flags = {"windows": {"convention"}, "never": {"noreturn"}, "assembly": {"asm"}, "first": {"constructor"},
                 "number": set()}
        self.assertEqual({name: {flag for flag in facts.flags(name) if "fold" not in flag} for name in flags}, flags)
        self.assertLessEqual({"naked", "asm"}, facts.flags("bare"))
        self.assertEqual(functions["nothing"][:4], ["nothing", "results.c", "9", "global"])

    def test_statics(self):
        """Lines are those of the program, without its regions, as its debug information has them."""
        for options in (["-O0"], ["-O2"], ["-O2", "-g"]):
            _, facts = self.build("statics.c", STATICS, *options)
            found = facts.of("static")
            self.assertEqual(sorted(record[1:] for record in found), sorted([
                ["calls", "", "statics.c", "2", "4", "mutable"], ["squares", "", "statics.c", "3", "16", "const"],
                ["per_thread", "", "statics.c", "4", "8", "mutable"], ["last", "first", "statics.c", "6", "4", "mutable"],
                ["last", "second", "statics.c", "12", "4", "mutable"], ["last", "second", "statics.c", "14", "4", "mutable"],
                ["labels", "main", "statics.c", "50", "16", "const"]]))
            self.assertEqual(len({record[0] for record in found}), len(found))
            self.assertEqual({record[0] for record in found if record[2] == "second"}, self.symbols_like("second.last"))

    def symbols_like(self, prefix):
        names = self.run_command(["/usr/bin/nm", "-g", "copy.o"]).stdout.split()
        return {name for name in names if name.startswith(prefix)}

    def test_calls_and_addresses(self):
        _, facts = self.build("statics.c", STATICS, "-O2")
        self.assertEqual([record[1:] for record in facts.of("calls") if record[0] == "main"],
                         [["fewer", "1"], ["dead", "1"], ["same", "1"], ["equal", "1"], ["shared", "1"], ["later", "1"],
                          ["no_result", "1"], ["apply", "1"]])
        self.assertEqual(facts.of("address"), [["second"]])
        self.assertEqual([record[1:] for record in facts.of("region")],
                         [["shared", "33", "variables"], ["shared", "37", "variables"], ["second", "25", "statics"],
                          ["first", "10", "statics"]])
        # The position of the variable among the region's, its name, size and alignment.
        self.assertEqual([[record[1], *record[3:]] for record in facts.of("shared")], [["1", "4", "4"], ["0", "4", "4"]])
        self.assertEqual(len({record[2] for record in facts.of("shared")}), 1)

    def test_what_the_optimiser_did(self):
        _, facts = self.build("statics.c", STATICS, "-O2")
        self.assertIn("poison=1", facts.flags("dead"))
        self.assertEqual(facts.functions()["later"][5:], ["xmm0,rdi,rsi,rdx", "poison=1;2"])
        self.assertIn("noresult", facts.flags("no_result"))
        self.assertIn("changed", facts.flags("fewer"))
        self.assertEqual(facts.flags("same"), facts.flags("equal"))
        self.assertRegex("".join(facts.flags("same")), r"^fold=\d+$")
        self.assertEqual(facts.flags("apply"), set())
        _, facts = self.build("statics.c", STATICS, "-O0")
        for name in ("dead", "no_result", "fewer"):
            self.assertLessEqual({flag.split("=")[0] for flag in facts.flags(name)}, {"fold"}, name)

    def test_cxx(self):
        _, facts = self.build("objects.cc", OBJECTS, "-O2")
        functions = facts.functions()
        self.assertEqual(functions["_Z5twiceIdET_S0_"],
                         ["double twice<double>(double)", "objects.cc", "16", "weak", "xmm0:8", "xmm0", "-"])
        self.assertEqual(functions["_Z4makePKc"][3:6], ["global", "rax:8", "rdi,rsi"])
        self.assertEqual(functions["_ZN12_GLOBAL__N_15Local1fEi"][3], "local")
        self.assertEqual(functions["_Z6alwaysi"][6], "alwaysinline")
        hosts = [record[1] for record in facts.of("region")]
        self.assertEqual(sorted(hosts), sorted(["_Z5twiceIiET_S0_", "_Z5twiceIdET_S0_", "_Z7inlinedi", "_Z6alwaysi",
                                                "_ZNK7Counter3runEi", "_ZZNK7Counter3runEiENKUliE_clEi"]))
        statics = {record[1]: record for record in facts.of("static")}
        self.assertEqual(statics["hidden"][2:], ["", "objects.cc", "5", "4", "mutable"])
        self.assertEqual(statics["ready"][2], "main")
        self.assertIn(["_ZN12_GLOBAL__N_15Local1fEi"], facts.of("address"))  # by its class's table

    def test_the_object(self):
        """Whatever the program's own object is made like, the twin's has one form."""
        for options in (["-O0"], ["-O2", "-g", "-fPIC", "-fno-plt"], ["-O1", "-fno-pic", "-no-pie", "-mcmodel=medium"],
                        ["-O2", "-ffunction-sections", "-fdata-sections", "-fstack-protector-all", "-fstack-clash-protection"],
                        ["-O1", "-fprofile-instr-generate", "-fcoverage-mapping", "-pg", "-fno-asynchronous-unwind-tables"]):
            with self.subTest(options=options):
                twin, _ = self.build("objects.cc", OBJECTS, *options)
                relocations = set(re.findall(r"R_X86_64_\w+", self.readelf("-r", twin)))
                self.assertLessEqual(relocations, RELOCATIONS)
                sections = self.readelf("-S", twin)
                self.assertRegex(sections, r" \.rdbtwin +PROGBITS +0+ \w+ \w+ 00 +E ")
                self.assertIn(" .eh_frame ", sections)
                self.assertIn(" .gcc_except_table ", sections)
                for unwanted in (".text.", ".init_array", ".debug", ".group COMDAT", "__llvm", ".ctors"):
                    self.assertNotIn(" " + unwanted, sections)
                symbols = [line.split() for line in self.readelf("-s", twin).splitlines() if re.match(r" +\d+:", line)]
                # But for labels of the code generator's own.
                kinds = {(s[4], s[5]) for s in symbols if s[6] not in ("UND", "ABS") and s[3] != "SECTION" and
                         not s[7].startswith((".L", "GCC_except_table"))}
                self.assertEqual(kinds, {("GLOBAL", "HIDDEN"), ("WEAK", "HIDDEN")})
                undefined = {s[7] for s in symbols if s[6] == "UND" and len(s) > 7}
                for unwanted in ("mcount", "__stack_chk_fail", "__llvm_profile_runtime", "_mcount"):
                    self.assertNotIn(unwanted, undefined)

    def test_units_without_regions_have_none(self):
        self.write("plain.c", "#include <rdb/rdb.h>\nrdb_begin_globals\nint debug_only;\nrdb_end_globals\n"
                             "int main(void) { return 0; }\n")
        self.run_command([RDB_CLANG, "plain.c", "-o", "prog"])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "prog.rdb", "twins")))

    def test_code_that_must_be_optimised(self):
        """A constant that only the optimiser finds. The program and its regions are not concerned."""
        self.write("assembly.c", ASSEMBLY)
        done = self.run_command([RDB_CLANG, "-O2", "assembly.c", "-o", "prog"])
        self.assertRegex(done.stderr, r"^assembly\.c:10:3: warning: the functions around the debug regions of this file have no "
                                      r"twins: invalid operand for inline asm constraint 'i'\n")
        self.assertEqual(self.run_command(["./prog"]).stdout, "")
        self.assertFalse(os.path.exists(os.path.join(self.dir, "prog.rdb", "twins")))
        self.assertEqual(self.run_command([RDB_CLANG, "-O2", "-w", "assembly.c", "-o", "prog"]).stderr, "")

    def run_twin(self, twin, stub, compiler):
        """Links the twin as a program of its own. Regions say which they are."""
        self.write("stub.c", stub)
        self.run_command([CLANG, "-c", "stub.c"])
        self.run_command([compiler, twin, "stub.o", "-o", "alone"])
        return self.run_command(["./alone"]).stdout.splitlines()

    def test_it_runs(self):
        for options in (["-O0"], ["-O2"], ["-O2", "-fPIC", "-fno-plt"], ["-O1", "-fno-pic", "-no-pie"]):
            with self.subTest(options=options):
                twin, facts = self.build("statics.c", STATICS, *options)
                program = self.run_command(["./prog"]).stdout.splitlines()
                # What the regions get: the addresses of their variables in their order, and the frame of their call.
                names = {record[2]: record[0] for record in facts.of("region")}
                stub = "#include <stdio.h>\nstatic void *frame; static int calls;\n" \
                       "void __rdb_twin_call(void *f) { frame = f; ++calls; }\n" + "".join(
                           "void %s(void **a) { %s }\n" % (names[line], code) for line, code in (
                               ("10", 'printf("first %d %d\\n", *(int *)a[0], a[-1] != 0);'),
                               ("25", 'printf("second %c %d\\n", *(char *)a[0], a[-1] != 0);'),
                               ("33", 'printf("begin %d %d %d\\n", *(int *)a[0], a[1] == 0, a[-1] == frame && calls == 1);'),
                               ("37", 'printf("shared %d %d %d\\n", a[0] == 0, *(int *)a[1], a[-1] == frame);')))
                lines = self.run_twin(twin, stub, CLANG)
                self.assertEqual(lines[:-1], ["begin 0 1 1", "first 0 0", "shared 1 0 1", "begin 0 1 1", "first 1 0",
                                              "shared 1 1 1", "begin 1 1 1", "first 2 0", "shared 1 4 1", "second c 0"])
                self.assertEqual(lines[-1], program[-1])

    def test_cxx_runs(self):
        """Exceptions find their way through the twin; the class tables are whole."""
        twin, facts = self.build("objects.cc", OBJECTS, "-O2")
        program = self.run_command(["./prog"]).stdout.splitlines()
        stub = "#include <stdio.h>\n" + "".join(
            'void %s(void **a) { puts("%s %s"); }\n' % (record[0], record[1], record[2]) for record in facts.of("region"))
        lines = self.run_twin(twin, stub, CLANGXX)
        self.assertEqual(lines[-1], program[-1])
        regions = [line.split()[0] for line in lines[:-1]]
        self.assertEqual(regions, ["_Z5twiceIiET_S0_"] * 2 + ["_Z5twiceIdET_S0_", "_Z7inlinedi"] +
                         ["_ZZNK7Counter3runEiENKUliE_clEi"] * 2 + ["_ZNK7Counter3runEi", "_Z6alwaysi"])

    def test_a_new_link_replaces_the_twins(self):
        twin, _ = self.build("statics.c", STATICS, "-O0")
        old = os.path.basename(twin)
        self.run_command(["/bin/mv", "statics.c", "moved.c"])
        self.run_command([RDB_CLANG, "moved.c", "-o", "prog"])
        self.assertNotIn(old, os.listdir(os.path.join(self.dir, "prog.rdb", "twins")))


if __name__ == "__main__":
    unittest.main()
