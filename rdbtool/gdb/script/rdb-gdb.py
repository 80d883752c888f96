# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `rdb gdb` adds to gdb: commands that move about in a recording by position.

gdb learns of a new position as it learns of everything, by a stop. So a command that moves tells the server
where to go, and then lets gdb make a step, which the server answers from there."""
import os
import re

import gdb


def monitor(command):
    text = gdb.execute("monitor " + command, to_string=True)
    if text.startswith("rdb: "):
        raise gdb.GdbError(text.strip())
    return text


def current_thread():
    """The id of the thread that runs next, as the recorded program knew it."""
    return int(re.search(r"thread (\d+)", monitor("when")).group(1))


def go(command):
    monitor("at-resume " + command)
    gdb.execute("set suppress-cli-notifications on")
    try:
        gdb.execute("stepi", to_string=True)
    finally:
        gdb.execute("set suppress-cli-notifications off")
    # gdb follows the list of libraries by breakpoints in the dynamic linker, and a jump passes none of them.
    gdb.execute("sharedlibrary", to_string=True)
    runs_next = current_thread()
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == runs_next:
            thread.switch()
    gdb.execute("frame")


class Shown(gdb.Command):
    """A command that the server answers with text."""

    def __init__(self, name, summary, command_class=gdb.COMMAND_STATUS):
        self.__doc__ = summary
        self.name = name
        super().__init__(name, command_class)

    def invoke(self, argument, from_tty):
        gdb.write(monitor((self.name + " " + argument).strip()))


class Moves(gdb.Command):
    """A command after which the program is elsewhere."""

    def __init__(self, name, summary):
        self.__doc__ = summary
        self.name = name
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        go((self.name + " " + argument).strip())


Shown("when", "Show where in the recording the program is: its time, and the thread that runs next.")
Shown("when-end", "Show where the recording ends, and how the program ended.")
Shown("bookmark", "bookmark NAME: give this position a name for goto. Without NAME, list the bookmarks.")
Shown("checkpoint", "checkpoint [NOTE]: remember this position under a number for restart.")
Shown("info checkpoints", "List the checkpoints.")
Shown("delete checkpoint", "delete checkpoint N: forget checkpoint N.")
Moves("goto", "goto WHERE: go to a time, to NN% of the recording, to start, to end or to a bookmark.")
Moves("restart", "restart N: go to checkpoint N.")


def load_printers(event):
    """A library's printers are found by its path; the recorded copy has another."""
    root = gdb.parameter("sysroot")
    name = event.new_objfile.filename or ""
    if not root or root == "/" or not name.startswith(root):
        return
    script = "/usr/share/gdb/auto-load" + name[len(root):] + "-gdb.py"
    real = "/usr/share/gdb/auto-load" + os.path.realpath(name[len(root):]) + "-gdb.py"
    for path in (script, real):
        if os.path.exists(path):
            gdb.execute("source " + path)
            return


gdb.events.new_objfile.connect(load_printers)
