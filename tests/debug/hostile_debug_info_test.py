# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug information that no compiler writes, in a recorded program, with every command that reads it in rdb itself: the
backtrace of a crash, the lines of a source, and calls with their arguments. None crashes, takes much time or memory, or
ends otherwise than it would without debug information.

The changes of the last test come from a seed: hostile_debug_info_test.py --seed N --rounds N tries others."""
import random
import resource
import shutil
import subprocess

import harness
import hostile_dwarf

MOST_MEMORY = 700 << 20
SEGV = -11
# With the statuses that they may end with: as the program, or for want of debug information.
COMMANDS = [(("replay", "./trace"), (SEGV,)), (("print", "--list", "hostile.c:1-20", "./trace"), (0, 2)),
            (("replay", "--no-report", "--trace-calls=hit", "./trace"), (SEGV,))]

SEED = harness.take_number("--seed", 1)
ROUNDS = harness.take_number("--rounds", 10)


class HostileDebugInfo(harness.TestCase):
    def build(self, text):
        self.write("prog.s", hostile_dwarf.PROGRAM + text)
        self.run_program(["/usr/bin/gcc", "-o", "prog", "prog.s"], status=0)

    def record(self):
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        self.rdb("record", "-q", "-o", "trace", "./prog", status=SEGV)

    def limited(self, args):
        """Runs rdb with little memory beside the address space that it reserves; its status and all its output."""
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        self._commands[:] = [f"cd {self.tmp} && {harness.rdb()} {' '.join(args)}"]
        child = subprocess.run([harness.rdb(), *args], cwd=self.tmp, env=self.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, preexec_fn=limit, check=False)
        return child.returncode, child.stdout.decode(errors="replace")

    def check(self):
        """What the commands printed."""
        self.record()
        said = []
        for args, statuses in COMMANDS:
            status, text = self.limited(args)
            self.assertIn(status, statuses, text[-2000:])
            self.assertNotIn("internal error", text)
            self.assertNotIn("out of memory", text)
            if args[0] == "replay" and "--no-report" not in args:
                self.assertRegex(text, "rdb: the program died of SIGSEGV at time")
            said.append(text)
        return said

    def test_what_a_compiler_would_write(self):
        for version in (2, 3, 4):
            with self.subTest(version=version):
                self.build(hostile_dwarf.plain(version).text() + hostile_dwarf.lines(version=version))
                crash, lines, calls = self.check()
                self.assertIn("main at hostile.c:5", crash)
                self.assertRegex(lines, r"(?m)^ +10 +3  i$")
                self.assertIn("hit(i=3)", calls)

    def test_each(self):
        for name, text in hostile_dwarf.cases():
            with self.subTest(name):
                self.build(text)
                self.check()

    def test_lines_without_variables(self):
        """Scopes that are too deep to look into; the lines are still there."""
        self.build(hostile_dwarf.in_hit(hostile_dwarf.nested(200_000)))
        self.assertRegex(self.check()[1], r"(?m)^ +10 +3 *$")

    def test_compressed_sections(self):
        self.build(hostile_dwarf.plain().text() + hostile_dwarf.lines() + '.section .debug_str, "", @progbits\n.string "text"\n')
        with open(self.path("prog"), "rb") as file:
            original = file.read()
        for name, section, old_name, contents in hostile_dwarf.compressed_sections():
            with self.subTest(name):
                with open(self.path("prog"), "wb") as file:
                    file.write(hostile_dwarf.with_section(original, section, old_name, contents))
                said = self.check()
                if "size that lies" in name and "small" not in name or "thousand" in name:
                    self.assertIn("its debug information is not used: section ." + ("z" if old_name else "") + section[1:],
                                  said[0])

    def test_a_line_table_that_is_too_long(self):
        rows = hostile_dwarf.ADDRESS.format(".Lhit_begin") + f".fill {17 << 20}, 1, 0x12\n" + hostile_dwarf.END
        self.build(hostile_dwarf.plain().text() + hostile_dwarf.lines(rows))
        self.assertIn("its debug information is not used: it has a line table of more than 16 MiB", self.check()[0])

    def test_what_gdb_cannot_deal_with(self):
        """gdb would loop for ever: it is ended after so much of the CPU's time, and one line says so."""
        cases = dict(hostile_dwarf.cases())
        for name in ("a variable whose abstract_origin is itself", "variables whose specification is each other"):
            with self.subTest(name):
                self.build(cases[name])
                self.record()
                for command in (("print", "./trace", "@hit", "(int)$rdi"), ("history", "total", "./trace", "--at", "hit")):
                    result = self.rdb(*command, env={"RDB_GDB_SECONDS": "1"}, status=125)
                    self.assertEqual(result.out, "")
                    self.assertRegex(result.err, r"\Ardb: gdb was ended: it computed for more than 1 s without an answer, [^\n]*\n\Z")
        result = self.rdb("print", "./trace", "@hit", "1", env={"RDB_GDB_SECONDS": "soon"}, status=2)
        self.assertRegex(result.err, r"\Ardb: (print: )?RDB_GDB_SECONDS=soon: expected a number of seconds [^\n]*\n\Z")

    def test_changes_by_chance(self):
        self.write("base.c", harness.program_text(__file__, "hostile_debug_info.c"))
        chance = random.Random(SEED)
        for version in (2, 4, 5):
            self.run_program(["/usr/bin/gcc", f"-gdwarf-{version}", "-O1", "-o", "prog", "base.c"], status=0)
            with open(self.path("prog"), "rb") as file:
                original = file.read()
            for number in range(ROUNDS):
                data = bytearray(original)
                for _ in range(chance.randint(1, 4)):
                    section = chance.choice([".debug_info", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_str",
                                             ".eh_frame"])
                    header, _ = hostile_dwarf.find_section(data, section)
                    begin, size = hostile_dwarf.struct.unpack_from("<QQ", data, header + 0x18)
                    at = begin + chance.randrange(size)
                    data[at] = chance.choice([data[at] ^ 1 << chance.randrange(8), 0, 0x7f, 0x80, 0xff, chance.randrange(256)])
                with self.subTest(version=version, number=number, seed=SEED):
                    with open(self.path("prog"), "wb") as file:
                        file.write(data)
                    self.check()


if __name__ == "__main__":
    harness.main()
