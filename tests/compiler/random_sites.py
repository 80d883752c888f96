# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes debug regions at random statements of a real source file, compiles it, and counts what became of them."""
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from toolchain import BUILD, RDB_CLANG, RDB_CLANGXX

SITES = os.path.join(BUILD, "bin", "rdb_sites")


def list_sites(source, options):
    """Every place of the file: (line, function, [(variable, format, expression)])."""
    done = subprocess.run([SITES, source, "--", *options], capture_output=True, text=True, check=True)
    sites = []
    for line in done.stdout.splitlines():
        number, function, *variables = line.split("\t")
        sites.append((int(number), function, [tuple(variable.split("|")) for variable in variables]))
    return sites


def choose(sites, count, seed, most=2):
    """A fixed choice for a seed: at most one place a line, and so many a function."""
    rng = random.Random(seed)
    sites = list(sites)
    rng.shuffle(sites)
    used, per_function, chosen = set(), collections.Counter(), []
    for line, function, variables in sites:
        if line in used or per_function[function] >= most or len(chosen) == count:
            continue
        used.add(line)
        per_function[function] += 1
        by_name = {}
        for name, form, expression in variables:
            by_name.setdefault(name, []).append((form, expression))
        names = rng.sample(sorted(by_name), min(len(by_name), rng.randint(1, 3)))
        chosen.append((line, function, [rng.choice(by_name[name]) for name in names]))
    return sorted(chosen)


def with_prints(text, chosen, before="{ ", after=" }"):
    """The text with a print of the variables behind each chosen line."""
    prints = {line: values for line, _, values in chosen}
    out = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        out.append(line)
        if number in prints:
            forms = " ".join(form for form, _ in prints[number])
            values = ", ".join(expression for _, expression in prints[number])
            out.append('%s__builtin_printf("%d: %s\\n", %s);%s\n' % (before, number, forms, values, after))
    return "".join(out)


def with_regions(text, chosen):
    """The same, with the prints in regions."""
    return "#include <rdb/rdb.h>\n" + with_prints(text, chosen, "rdb_begin\n  ", "\nrdb_end")


class Result:
    """How the regions of one compile fared, read from the descriptors. An argument counts once, whatever the number of
    copies that inlining makes of its region: as the share of them in which it has its value."""

    def __init__(self, descriptors):
        self.status = collections.Counter()
        self.lost = collections.Counter()
        self.arguments = {}
        self.unavailable = collections.Counter()
        self.details = []
        self.regions = {}
        with open(descriptors) as file:
            lines = file.read().splitlines()
        for line in lines:
            words = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)
            if words[0] == "region":
                self.status[words[6]] += 1
                self.regions[words[1]] = (int(words[4]), words[9])
                if words[6] != "complete":
                    self.lost[words[6] + ": " + words[7]] += 1
                    self.details.append((int(words[4]), words[9], words[6] + ": " + words[7]))
            if words[0] == "argument":
                copies = self.arguments.setdefault((words[1], words[3]), [0, 0])
                copies[1] += 1
                if "unavailable" in words[8:]:
                    reason = words[words.index("unavailable") + 1]
                    self.unavailable[reason] += 1
                    self.details.append((*self.regions[words[1]], words[4] + ": " + reason))
                else:
                    copies[0] += 1

    @property
    def counted(self):
        """How many regions should run somewhere: no code was made for the others."""
        return sum(n for status, n in self.status.items() if status not in ("unused", "not-compiled"))

    @property
    def placed(self):
        """The share of the regions that run at every place they should."""
        return self.status["complete"] / self.counted if self.counted else 1.0

    @property
    def available(self):
        """Of the arguments, how many have their value."""
        return sum(there / all_of_it for there, all_of_it in self.arguments.values())

    def __str__(self):
        lines = ["regions: %s; %.1f %% placed" % (dict(self.status), 100 * self.placed),
                 "arguments: %.1f available of %d: %.1f %%" % (
                     self.available, len(self.arguments), 100 * self.available / max(len(self.arguments), 1))]
        lines += ["%6d %s" % (n, reason) for reason, n in (self.lost + self.unavailable).most_common(20)]
        return "\n".join(lines)


def build(directory, name, text, options, cxx):
    """Compiles the text with rdb-clang to regions.o, makes a shared library of it and returns its result."""
    path = os.path.join(directory, name)
    with open(path, "w") as out:
        out.write(text)
    compiler = RDB_CLANGXX if cxx else RDB_CLANG
    for command in ([compiler, *options, "-w", "-fPIC", "-c", name, "-o", "regions.o"],
                    [compiler, "-shared", "regions.o", "-o", "lib.so"]):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError("cd %s && %s\n%s" % (directory, " ".join(command), done.stderr))
    return Result(os.path.join(directory, "lib.so.rdb", "descriptors"))


def main():
    """random_sites.py FILE COUNT SEED [compiler options]: prints how the regions fared, and why."""
    source, count, seed, *options = sys.argv[1:]
    cxx = source.endswith((".cc", ".cpp"))
    chosen = choose(list_sites(source, options + ["-w"]), int(count), int(seed))
    with open(source) as file:
        edited = with_regions(file.read(), chosen)
    directory = tempfile.mkdtemp(prefix="rdb-sites-")
    try:
        result = build(directory, os.path.basename(source), edited, options, cxx)
    finally:
        shutil.rmtree(directory)
    print(result)
    for detail in result.details:
        print("  %d %s %s" % detail)


if __name__ == "__main__":
    main()
