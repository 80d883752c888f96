# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions at random statements of real code, a fixed choice for a seed. The code stays what it was; without
optimisation every region has its place and all its values, with it most have. Its argument is the corpus: cxx (files of
this project) or sqlite (SQLite's amalgamation, of the npm package better-sqlite3)."""
import glob
import os
import subprocess
import sys
import unittest

from toolchain import BUILD, CLANG, CLANGXX, SOURCE, CompilerTest
import elf_sections
import random_sites

SQLITE = "better-sqlite3@12.11.1"
SEED = 1
CORPUS = sys.argv.pop(1) if len(sys.argv) > 1 else "cxx"


def project_files():
    for name in ("descriptors/read.cc", "descriptors/inspect.cc", "descriptors/payload_write.cc",
                 "llvm-passes/source/lines.cc"):
        with open(os.path.join(SOURCE, name)) as file:
            yield os.path.basename(name), file.read(), ["-std=c++20", "-I" + SOURCE], 60


def sqlite_files():
    folder = os.path.join(BUILD, "corpora", SQLITE)
    source = os.path.join(folder, "package", "deps", "sqlite3", "sqlite3.c")
    if not os.path.exists(source):
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", SQLITE], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"npm pack {SQLITE}: {done.stderr}"
        archive, = glob.glob(os.path.join(folder, "*.tgz"))
        subprocess.run(["tar", "xzf", archive], cwd=folder, check=True)
    with open(source) as file:
        yield "sqlite3.c", file.read(), [], 250


LEAST = {"cxx": 90, "sqlite": 200}  # regions
CORPORA = {"cxx": project_files, "sqlite": sqlite_files}


class RandomSites(CompilerTest):
    def check(self, level):
        """The shares of regions with their place and of arguments with a value, over the corpus."""
        count = placed = arguments = available = 0
        for name, text, options, sites in CORPORA[CORPUS]():
            cxx = name.endswith(".cc")
            options = [level, *options]
            path = self.write(name, text)
            chosen = random_sites.choose(random_sites.list_sites(path, options + ["-w"]), sites, SEED)
            self.run_command([CLANGXX if cxx else CLANG, *options, "-w", "-fPIC", "-c", name, "-o", "plain.o"])
            result = random_sites.build(self.dir, name, random_sites.with_regions(text, chosen), options, cxx)
            self.assertEqual(elf_sections.differences(self.read("plain.o"), self.read("regions.o")), [], name)
            with self.subTest(file=name, level=level):
                print(f"{name} {level}: {len(chosen)} regions chosen\n{result}", flush=True)
            count += result.counted
            placed += result.status["complete"]
            available += result.available
            arguments += result.available + sum(result.unavailable.values())
        self.assertGreaterEqual(count, LEAST[CORPUS])
        print(f"{level}: {100 * placed / count:.1f} % of {count} regions placed, "
              f"{100 * available / arguments:.1f} % of {arguments} arguments available", flush=True)
        return placed / count, available / arguments

    def test_without_optimisation_all_are_placed(self):
        self.assertEqual(self.check("-O0"), (1.0, 1.0))

    def test_with_optimisation_most_are_placed(self):
        placed, _ = self.check("-O2")
        self.assertGreaterEqual(placed, 0.85)


if __name__ == "__main__":
    unittest.main()
