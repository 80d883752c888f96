# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thousands of regions in a file: the cost of each must not grow with their number. The cost of a command is the number of
instructions that it executes, as `rdb run --stats` counts them: that is the same on every machine, busy or not. It is compared with the
cost of a quarter of the regions; what grows with the square would cost sixteen times as much. Where clang itself takes more
than its share for a long function, rdb-clang may do so as well, but not more than clang does."""
import os
import re
import resource
import unittest

from many_regions_program import SHAPES, program
from toolchain import BUILD, CLANG, RDB_CLANG, SOURCE, CompilerTest, without_regions

RDB = os.path.join(BUILD, "bin", "rdb")
FEW = 300
MOST = 6  # times as much for four times as many
MOST_BESIDE_CLANG = 1.2  # times what that is for clang


class ManyRegions(CompilerTest):
    def cost_of(self, command):
        """Millions of instructions, in all processes of the command."""
        done = self.run_command([RDB, "run", "--stats", *command])
        counts = [int(count) for count in re.findall(r"^guest instructions: (\d+)$", done.stderr, re.MULTILINE)]
        self.assertGreater(len(counts), 0)
        return sum(counts) / 1e6, done

    def cpu_time_of(self, command):
        """Of a replay, which rdb cannot count: the least CPU time of several runs, which is what it takes on an idle machine."""
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = self.run_command(command)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times), done

    def costs(self, shape, command, few=FEW, change=lambda text: text):
        costs = []
        for count in (few, 4 * few):
            self.write("many.c", change(program(shape, count)))
            costs.append(self.cost_of([*command, "-c", "many.c"])[0])
        return costs

    def check(self, shape, flags):
        costs = self.costs(shape, [RDB_CLANG, *flags])
        self.assertLess(costs[1], MOST * costs[0], "%s %s: %d regions take %.0f million instructions, %d take %.0f" % (
            shape, flags, FEW, costs[0], 4 * FEW, costs[1]))

    def check_beside_clang(self, shape, flags):
        few = 500
        plain = self.costs(shape, [CLANG, *flags], few, without_regions)
        costs = self.costs(shape, [RDB_CLANG, *flags], few)
        self.assertLess(costs[1] / costs[0], MOST_BESIDE_CLANG * plain[1] / plain[0],
                        "%s %s: %d regions take %.0f million instructions (clang %.0f), %d take %.0f (clang %.0f)" % (
                            shape, flags, few, costs[0], plain[0], 4 * few, costs[1], plain[1]))

    def test_compiling(self):
        for shape in SHAPES:
            self.check(shape, ["-O0"])

    def test_compiling_with_optimisation(self):
        for shape in ("functions", "globals", "debug-variables", "one-function", "side-by-side", "variables"):
            self.check(shape, ["-O2"])

    def test_compiling_with_optimisation_what_clang_is_slow_at(self):
        """Nearly all blocks of the function become one: clang's own time grows faster than their number."""
        self.check_beside_clang("blocks", ["-O2"])

    def test_inspecting_and_replaying(self):
        include = os.path.join(SOURCE, "runtime-libs", "include")
        for shape in ("one-function", "functions"):
            costs = {"inspect": [], "replay": []}
            for count in (FEW, 4 * FEW):
                self.write("many.c", program(shape, count))
                self.run_command([CLANG, "-w", "-DRDB_INLINE", "-I" + include, "many.c", "-o", "inline"])
                self.run_command([RDB_CLANG, "many.c", "-o", "many"])
                cost, done = self.cost_of([RDB, "inspect", "many.rdb"])
                self.assertIn("%d regions, %d locations" % (count, count), done.stdout)
                costs["inspect"].append(cost)
                trace = os.path.join(self.dir, "%s-%d" % (shape, count))
                self.run_command([RDB, "record", "-o", trace, "./many"])
                cost, done = self.cpu_time_of([RDB, "replay", trace])
                costs["replay"].append(cost)
                expected = [line for line in self.run_command(["./inline"]).stdout.splitlines() if line.startswith("r")]
                self.assertEqual(len(expected), count)
                self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("r")], expected)
            for what, (few, many) in costs.items():
                self.assertLess(many, MOST * few, "%s, %s: %.2f, then %.2f" % (shape, what, few, many))


if __name__ == "__main__":
    unittest.main()
