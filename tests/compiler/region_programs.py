# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs with regions that several tests take (the files in programs/), and what they were before the regions were
written."""
import os

from harness import SOURCE

PROGRAMS = os.path.join(SOURCE, "tests", "compiler", "programs")


def names():
    """Their file names; a folder has the programs of one test."""
    return sorted(entry.name for entry in os.scandir(PROGRAMS) if entry.is_file())


def strip_regions(text):
    """The source before the regions were written, found here by lines alone: the test's programs are tidy."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        word = line.strip()
        if word.startswith("rdb_begin"):
            inside = True
        if not inside and word != "#include <rdb/rdb.h>":
            kept.append(line)
        if word.startswith("rdb_end"):
            inside = False
    return "".join(kept).replace("#ifdef DEBUG\n#endif\n", "")
