# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs inside gdb, on a live program that gdb itself records or on rdb's recording of it: from every instruction of
the function work, where does each command lead? Writes a table as JSON; instructions are counted from the first one
in main. RDB_LANDING_TABLE names the file."""
import json
import os
import re

import gdb

COMMANDS = ("stepi", "nexti", "step", "next", "until", "finish", "reverse-stepi", "reverse-nexti", "reverse-step",
            "reverse-next", "reverse-finish")


def quietly(command):
    return gdb.execute(command, to_string=True)


def line_after(text):
    with open(gdb.selected_frame().find_sal().symtab.fullname(), encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 2) if text in line)


class RecordedByGdb:
    def __init__(self):
        quietly("break main")
        quietly("run")
        quietly("delete")
        quietly("record full")
        quietly(f"tbreak {line_after('// end')}")
        quietly("continue")
        lowest, self.last = (int(n) for n in re.findall(r"instruction number is (\d+)", quietly("info record")))
        self.first = lowest - 1

    def go(self, position):
        if self.position() != position:
            quietly(f"record goto {position + self.first}")

    def position(self):
        here = re.search(r"Current instruction number is (\d+)", quietly("info record"))
        return int(here.group(1)) - self.first if here else self.last - self.first + 1


class RecordedByRdb:
    def __init__(self):
        quietly("break main")
        quietly("continue")
        quietly("delete")
        self.first = 0
        self.first = self.position()
        quietly(f"tbreak {line_after('// end')}")
        quietly("continue")
        self.last = self.first + self.position() - 1

    def go(self, position):
        quietly(f"goto {position + self.first}")

    def position(self):
        return int(re.search(r"At (\d+),", quietly("when")).group(1)) - self.first


def landing(run, position, command):
    run.go(position)
    try:
        quietly(command)
    except gdb.error as error:
        return str(error)
    frame = gdb.selected_frame()
    return f"{run.position()} {frame.name()} {frame.find_sal().line} {frame.pc() - main:#x}"


def depth():
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        names.append(frame.name())
        frame = frame.older()
    return names


gdb.execute("set confirm off")
run = RecordedByGdb() if os.environ["RDB_LANDING_KIND"] == "live" else RecordedByRdb()
main = int(gdb.parse_and_eval("(long)&main"))
table = {}
for position in range(run.last - run.first + 1):
    run.go(position)
    # What comes before main is in one of the recordings only.
    if "work" in depth():
        for command in COMMANDS:
            table[f"{position} {command}"] = landing(run, position, command)
with open(os.environ["RDB_LANDING_TABLE"], "w", encoding="utf-8") as file:
    json.dump(table, file, indent=0)
