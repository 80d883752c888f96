# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dependency rules of CONTRIBUTING.md, by reading what each file includes and names."""
import os
import re
import unittest

import harness

# Which folders the files of a folder may include. `descriptors` and `runtime-libs` are outside rdbtool.
MAY_INCLUDE = {
    "base": {"base"},
    "engine": {"base", "engine"},
    "syscalls": {"base", "syscalls"},
    "trace": {"base", "trace"},
    "guest": {"base", "engine", "syscalls", "guest"},
    "record": {"base", "engine", "syscalls", "trace", "guest", "record"},
    "replay": {"base", "engine", "syscalls", "trace", "guest", "replay"},
    "debug": {"base", "engine", "syscalls", "trace", "guest", "replay", "debug", "descriptors", "runtime-libs"},
    "gdb/protocol": {"base", "gdb/protocol"},
    "gdb/replay": {"base", "syscalls", "trace", "guest", "replay", "gdb/protocol", "gdb/replay"},
    "cli": {"base", "engine", "syscalls", "trace", "guest", "record", "replay", "debug", "gdb/protocol", "gdb/replay", "cli",
            "descriptors", "runtime-libs"},
}
# What the files of a folder must not name, whatever they include.
MUST_NOT_NAME = {
    "engine": (r"\bSYS_\w+|\b(raw_)?syscall\(|\btrace::", "system calls or traces"),
    "guest": (r"\b(trace|record|replay)::|\b(ring_fd|control_fd|checksum_interval)\b", "logs"),
    "gdb": (r"\bengine::|\b(engine|translator|run_guest|execute_input|finish_input)\(", "the engine"),
    "trace": (r"\b(engine|guest|record|replay)::", "what runs programs"),
    "record": (r"\breplay::", "replay"),
    "replay": (r"\brecord::", "record"),
}
# For each rule a line that breaks it: a rule that cannot fail says nothing.
BROKEN = [
    ("rdbtool/base/error.h", '#include "rdbtool/trace/store.h"'),
    ("rdbtool/engine/cpu.cc", '#include "rdbtool/syscalls/table.h"'),
    ("rdbtool/engine/cpu.cc", '#include "rdbtool/trace/format/input.h"'),
    ("rdbtool/engine/cpu.cc", "if (number == SYS_read) return;"),
    ("rdbtool/engine/translate/emit.cc", "raw_syscall(0, 1);"),
    ("rdbtool/engine/cpu.cc", "trace::Input input;"),
    ("rdbtool/guest/threads/futex.cc", '#include "rdbtool/trace/ring/log_producer.h"'),
    ("rdbtool/guest/threads/futex.cc", "void log(trace::LogProducer& to);"),
    ("rdbtool/guest/process/handover.h", "int ring_fd = -1;"),
    ("rdbtool/trace/store.h", '#include "rdbtool/guest/process/machine.h"'),
    ("rdbtool/trace/store.h", "guest::Machine* machine;"),
    ("rdbtool/record/session.cc", '#include "rdbtool/replay/replayer.h"'),
    ("rdbtool/record/session.cc", "replay::Replayer* replayer;"),
    ("rdbtool/replay/replayer.cc", '#include <rdbtool/record/session.h>'),
    ("rdbtool/replay/replayer.cc", "  record::SessionOptions options; // one more"),
    ("rdbtool/gdb/replay/replay_agent.cc", '#include "rdbtool/engine/engine.h"'),
    ("rdbtool/gdb/replay/replay_agent.cc", '# include "../../engine/engine.h"'),
    ("rdbtool/gdb/replay/replay_agent.cc", "auto& regs = replayer_.engine().registers();"),
    ("rdbtool/gdb/replay/replay_agent.cc", "replayer_.run_guest(1);"),
    ("rdbtool/gdb/protocol/session.cc", "engine::Registers registers;"),
    ("rdbtool/gdb/protocol/session.cc", '#include "rdbtool/gdb/replay/replay_agent.h"'),
    ("rdbtool/debug/regions/regions.cc", '#include "rdbtool/record/session.h"'),
    ("rdbtool/cli/help.cc", '#include "llvm-passes/driver/options.h"'),
]
LARGEST_FOLDER = 45  # files


def room_of(path):
    """The folder of MAY_INCLUDE that a path below the repository belongs to."""
    parts = path.split("/")
    if parts[0] != "rdbtool":
        return parts[0]
    return "/".join(parts[1:3]) if parts[1] == "gdb" else parts[1]


def sources():
    top = os.path.join(harness.SOURCE, "rdbtool")
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            if name.endswith((".cc", ".h", ".c")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf8") as file:
                    yield os.path.relpath(path, harness.SOURCE), file.read()


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def violations(path, text):
    """What a source file includes and names that it must not."""
    room = room_of(path)
    for own, system in re.findall(r'^\s*#\s*include\s*(?:"([^"]+)"|<(\w[\w-]*/[^>]+)>)', text, re.MULTILINE):
        ours = os.path.isdir(os.path.join(harness.SOURCE, (own or system).split("/")[0]))
        if (own or ours) and room_of(own or system) not in MAY_INCLUDE[room]:
            yield f"{path} includes {own or system}"
    for folder, (pattern, what) in MUST_NOT_NAME.items():
        if path.startswith(f"rdbtool/{folder}/"):
            for found in re.finditer(pattern, without_comments(text)):
                yield f"{path} names {found.group()}: {folder} must not know {what}"


class Layers(unittest.TestCase):
    def test_dependencies_point_downwards(self):
        self.assertEqual({room_of(path) for path, _ in sources()}, set(MAY_INCLUDE))
        self.assertEqual([found for path, text in sources() for found in violations(path, text)], [])

    def test_each_rule_can_fail(self):
        for path, line in BROKEN:
            with self.subTest(path=path, line=line):
                self.assertEqual(len(list(violations(path, line))), 1)
        self.assertEqual(list(violations("rdbtool/engine/cpu.cc", "// as SYS_read does\n#include <sys/mman.h>")), [])

    def test_no_folder_is_too_large_to_see(self):
        count = {}
        for path, _ in sources():
            count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
        for folder, files in count.items():
            self.assertLessEqual(files, LARGEST_FOLDER, f"{folder} would be clearer in several folders")


if __name__ == "__main__":
    unittest.main()
