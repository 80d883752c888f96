# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thousands of regions in a file: the cost of each must not grow with their number. CPU times are compared with those of a quarter of
the regions, never with a clock; what grows with the square would take sixteen times as long."""
import os
import resource
import unittest

from many_regions_program import SHAPES, program
from toolchain import BUILD, CLANG, RDB_CLANG, SOURCE, CompilerTest

RDB = os.path.join(BUILD, "bin", "rdb")
FEW = 600
MOST = 8  # times as long for four times as many


class ManyRegions(CompilerTest):
    def cost_of(self, command):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run_command(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done

    def check(self, shape, flags):
        costs = []
        for count in (FEW, 4 * FEW):
            self.write("many.c", program(shape, count))
            costs.append(self.cost_of([RDB_CLANG, *flags, "-c", "many.c"])[0])
        self.assertLess(costs[1], MOST * costs[0], "%s %s: %d regions take %.2f s, %d take %.2f s" % (
            shape, flags, FEW, costs[0], 4 * FEW, costs[1]))

    def test_compiling(self):
        for shape in SHAPES:
            self.check(shape, ["-O0"])

    def test_compiling_with_optimisation(self):
        for shape in ("functions", "globals", "debug-variables", "one-function", "side-by-side"):
            self.check(shape, ["-O2"])

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
                cost, done = self.cost_of([RDB, "replay", trace])
                costs["replay"].append(cost)
                expected = [line for line in self.run_command(["./inline"]).stdout.splitlines() if line.startswith("r")]
                self.assertEqual(len(expected), count)
                self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("r")], expected)
            for what, (few, many) in costs.items():
                self.assertLess(many, MOST * max(few, 0.05), "%s, %s: %.2f s, then %.2f s" % (shape, what, few, many))


if __name__ == "__main__":
    unittest.main()
