# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""identity_test.py with every combination of program, flags and linker."""
import os
import unittest

os.environ["RDB_FULL"] = "1"
from identity_test import Identity  # noqa: E402,F401

if __name__ == "__main__":
    unittest.main()
