# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""identity_test.py with every combination of program, level and flags, each with every linker."""
import os
import unittest

os.environ.setdefault("RDB_COMBINATIONS", "45")
os.environ.setdefault("RDB_LINKERS", "all")
from identity_test import Identity  # noqa: E402,F401

if __name__ == "__main__":
    unittest.main()
