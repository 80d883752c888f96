# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions at random statements of a program that runs, a fixed choice for a seed: what they print in a replay is what
printf prints there that is compiled into the program. Without optimisation all of it, in order; with it a region may be
missing or be left out now and then, but never print anything else."""
import collections
import os
import re

from toolchain import BUILD, CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, CompilerTest
import random_sites

RDB = os.path.join(BUILD, "bin", "rdb")
# A variable that is not set yet has the same value in both.
FLAGS = ["-w", "-ftrivial-auto-var-init=zero"]


def by_site(output):
    """What each of the prints said, in order."""
    found = collections.defaultdict(list)
    for line in output.splitlines():
        if match := re.match(r"(\d+): (.*)", line):
            found[int(match[1])].append(match[2])
    return found


def is_part(some, whole):
    """Is one list the other with items left out?"""
    rest = iter(whole)
    return all(item in rest for item in some)


class RandomValues(CompilerTest):
    def check(self, source, others, arguments, level, sites, seed, options=()):
        cxx = source.endswith(".cc")
        flags = [level, *FLAGS, *options]
        every = [(line, function, [v for v in variables if v[1] not in ("%p", "%s")])
                 for line, function, variables in random_sites.list_sites(source, flags)]
        chosen = random_sites.choose([site for site in every if site[2]], sites, seed)
        with open(source) as file:
            text = file.read()
        name = os.path.basename(source)
        self.write(name, random_sites.with_regions(text, chosen))
        self.write("plain_" + name, random_sites.with_prints(text, chosen))
        libraries = ["-lm", "-lfmt"]
        self.run_command([RDB_CLANGXX if cxx else RDB_CLANG, *flags, name, *others, "-o", "program", *libraries])
        self.run_command([CLANGXX if cxx else CLANG, *flags, "plain_" + name, *others, "-o", "plain", *libraries])
        self.run_command(["rm", "-rf", "trace"])
        expected = by_site(self.run_command(["/usr/bin/stdbuf", "-o0", "./plain", *arguments], status=None).stdout)
        recorded = self.run_command([RDB, "record", "--checksum", "-q", "-o", "trace", "./program", *arguments], status=None)
        replayed = self.run_command([RDB, "replay", "trace"], status=recorded.returncode)
        shown = by_site(replayed.stdout)
        print(f"{name} {level}: {len(chosen)} sites, {len(expected)} reached, {len(shown)} shown; "
              f"{sum(map(len, shown.values()))} of {sum(map(len, expected.values()))} prints", flush=True)
        self.assertGreater(len(expected), 0)
        for line, values in shown.items():
            self.assertTrue(is_part(values, expected[line]),
                            f"{name}:{line} {level}: {values[:5]} ... instead of {expected[line][:5]} ... in\n{chosen}")
        if level == "-O0":
            self.assertEqual(shown, expected, f"{name} {level}\n{chosen}\n{replayed.stderr}")
