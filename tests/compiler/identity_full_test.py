# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""identity_test.py with many more combinations of program, flags and linker (all of them take hours)."""
import os
import unittest

os.environ.setdefault("RDB_COMBINATIONS", "20")
from identity_test import Identity  # noqa: E402,F401

if __name__ == "__main__":
    unittest.main()
