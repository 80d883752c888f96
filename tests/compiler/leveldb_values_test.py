# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random values (see random_values.py) in LevelDB, of the npm package leveldown: C++ of many files and virtual functions, run by
its own test programs."""
import glob
import os
import unittest

from toolchain import CLANGXX
import npm_source
import random_values

# What each test program runs the code of.
CODE = {
    "db/log_test.cc": ("db/log_reader.cc", "db/log_writer.cc"),
    "table/filter_block_test.cc": ("table/filter_block.cc",),
    "util/bloom_test.cc": ("util/bloom.cc",),
    "util/cache_test.cc": ("util/cache.cc",),
    "db/version_edit_test.cc": ("db/version_edit.cc",),
    "util/coding_test.cc": ("util/coding.cc",),
    "db/write_batch_test.cc": ("db/write_batch.cc", "db/memtable.cc", "util/arena.cc"),
    "db/version_set_test.cc": ("db/version_set.cc",),
    "db/filename_test.cc": ("db/filename.cc", "util/logging.cc"),
}
PROGRAMS = ("_test.cc", "db_bench.cc", "leveldbutil.cc", "/c.cc")


class LevelDb(random_values.RandomValues):
    def test_its_own_tests(self):
        root = npm_source.path("leveldown@6.1.1", "deps", "leveldb", "leveldb-1.20")
        options = ["-std=c++11", "-DOS_LINUX", "-DLEVELDB_PLATFORM_POSIX", "-I" + root, "-I" + os.path.join(root, "include"),
                   "-pthread"]
        files = [os.path.relpath(path, root) for folder in ("db", "table", "util", "helpers/memenv")
                 for path in glob.glob(os.path.join(root, folder, "*.cc")) if not path.endswith(PROGRAMS)]
        objects = {}
        for name in [*files, "port/port_posix.cc", "port/port_posix_sse.cc", *CODE]:
            objects[name] = name.replace("/", "_") + ".o"
            self.run_command([CLANGXX, "-O1", "-w", *options, "-c", os.path.join(root, name), "-o", objects[name]])
        for test, sources in CODE.items():
            for source in sources:
                for level in ("-O0", "-O1", "-O2", "-O3"):
                    with self.subTest(source=source, level=level):
                        others = [objects[name] for name in objects if name != source and (name not in CODE or name == test)]
                        self.check(os.path.join(root, source), others, [], level, 60, 1, options)


if __name__ == "__main__":
    unittest.main()
