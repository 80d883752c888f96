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
    "engine": (r"\bSYS_\w+", "system calls"),
    "guest": (r"\b(trace|record|replay)::|\b(ring_fd|control_fd|checksum_interval)\b", "logs"),
    "gdb": (r"\bengine::|\bengine\(\)|\btranslator\(\)", "the engine"),
    "trace": (r"\b(engine|guest|record|replay)::", "what runs programs"),
    "record": (r"\breplay::", "replay"),
    "replay": (r"\brecord::", "record"),
}
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
    return re.sub(r"//[^\n]*", "", text)


class Layers(unittest.TestCase):
    def test_includes_point_downwards(self):
        seen = set()
        for path, text in sources():
            room = room_of(path)
            seen.add(room)
            for included in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
                self.assertIn(room_of(included), MAY_INCLUDE[room], f"{path} includes {included}")
        self.assertEqual(seen, set(MAY_INCLUDE))

    def test_names_point_downwards(self):
        for path, text in sources():
            for folder, (pattern, what) in MUST_NOT_NAME.items():
                if not path.startswith(f"rdbtool/{folder}/"):
                    continue
                for number, line in enumerate(without_comments(text).splitlines(), 1):
                    self.assertNotRegex(line, pattern, f"{path}:{number}: {folder} must not know {what}")

    def test_no_folder_is_too_large_to_see(self):
        count = {}
        for path, _ in sources():
            count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
        for folder, files in count.items():
            self.assertLessEqual(files, LARGEST_FOLDER, f"{folder} would be clearer in several folders")


if __name__ == "__main__":
    unittest.main()
