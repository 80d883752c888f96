# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The count of guest instructions is exact: it is what single-stepping natively counts, in every engine and every run."""
import os
import random
import re

import guests
import harness
import random_assembly

COUNT_NATIVE = os.path.join(harness.BUILD, "tests", "count_native")


class Count(guests.GuestTest):
    def native_count(self, argv):
        result = self.run_program([COUNT_NATIVE, *argv])
        return int(re.search(r"native instructions: (\d+)", result.err).group(1))

    def rdb_count(self, options, argv):
        # perl's and python's hash tables are seeded by random bytes, unless told otherwise.
        seeds = {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}
        return guests.instructions(self.rdb_run(["--no-aslr", "--stats", *options], argv, env=seeds).err)

    def build(self, name, text):
        source = self.write(name + ".S", text)
        self.run_program(["/usr/bin/as", "-o", name + ".o", source], status=0)
        self.run_program(["/usr/bin/ld", "-o", name, name + ".o"], status=0)
        return self.path(name)

    def check(self, argv):
        native = self.native_count(argv)
        for engine in "fast", "step":
            with self.subTest(engine=engine):
                self.assertEqual(self.rdb_count(guests.ENGINES[engine], argv), native)

    def test_small_program(self):
        self.check([harness.target("engine/count")])

    def test_death_in_the_middle_of_a_block(self):
        for name, end in ("segv", "mov %eax, 0"), ("ill", "ud2"), ("fpe", "xor %ecx, %ecx; div %ecx"), ("hlt", "hlt"):
            with self.subTest(death=name):
                body = "mov $100, %ecx; 1: loop 1b; nop; nop; add $3, %eax; " + end + "; nop; nop; jmp _start"
                self.check([self.build(name, f".globl _start\n_start: {body}\n")])

    def test_stops_after_exactly_n(self):
        """At every N the engine stands where single-stepping stands; a signal is delivered at the next instruction."""
        for seed in None, 11, 12, 13:
            argv = [harness.target("engine/count")] if seed is None else [
                self.build(f"stop{seed}", random_assembly.program(seed, fuel=40))]
            generator = random.Random(seed or 1)
            total = self.native_count(argv)
            stops = sorted({0, 1, total - 1, *(generator.randrange(total) for _ in range(20))})
            native = self.run_program([COUNT_NATIVE, *(word for n in stops for word in ("--stop", n)), *argv]).err
            for engine in "fast", "blocks", "step":
                self._commands.clear()
                found = [re.search(r"rdb: stopped after (\d+) instructions at (0x[0-9a-f]+)",
                                   self.rdb_run([*guests.ENGINES[engine], "--max-instructions", n], argv).err) for n in stops]
                with self.subTest(seed=seed, engine=engine):
                    self.assertEqual([f"after {match.group(1)}: {match.group(2)}" for match in found],
                                     re.findall(r"after \d+: 0x[0-9a-f]+", native))

    def test_random_programs(self):
        for seed in range(4):
            with self.subTest(seed=seed):
                self.check([self.build(f"random{seed}", random_assembly.program(seed, fuel=120))])

    def test_the_same_in_every_run_and_engine(self):
        for name in ("engine/calls", "engine/exceptions", "engine/longjmp", "engine/faults", "engine/strings",
                     "engine/calls_static"):
            with self.subTest(program=name):
                argv = [harness.target(name)]
                counts = {self.rdb_count(options, argv) for options in ([], [], ["--engine=step"])}
                self.assertEqual(len(counts), 1, counts)

    def test_system_programs_count_the_same_in_every_run(self):
        text = self.write("text", "".join(f"line {i * 7919 % 1000}\n" for i in range(2000)))
        for argv in (["/usr/bin/true"], ["/usr/bin/sort", "--parallel=1", text], ["/usr/bin/md5sum", text],
                     ["/usr/bin/wc", text], ["/usr/bin/grep", "-c", "9", text],
                     ["/usr/bin/perl", "-ne", "$n += length; END { print $n }", text]):
            with self.subTest(argv=argv):
                counts = {self.rdb_count(options, argv) for options in ([], [], ["--engine=step"])}
                self.assertEqual(len(counts), 1, counts)

    def test_statistics_have_every_line(self):
        result = self.rdb_run(["--stats"], ["/usr/bin/true"], status=0)
        self.assertEqual(set(guests.statistics(result.err)),
                         {"guest instructions", "blocks", "translations", "time in engine", "peak cache"}, result.err)


if __name__ == "__main__":
    harness.main()
