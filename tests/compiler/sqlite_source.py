# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SQLite's amalgamation, of the npm package better-sqlite3: a real C file of 250,000 lines. Kept in the build folder."""
import glob
import os
import subprocess

from toolchain import BUILD

PACKAGE = "better-sqlite3@12.11.1"


def path():
    folder = os.path.join(BUILD, "corpora", PACKAGE)
    source = os.path.join(folder, "package", "deps", "sqlite3", "sqlite3.c")
    if not os.path.exists(source):
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"npm pack {PACKAGE}: {done.stderr}"
        archive, = glob.glob(os.path.join(folder, "*.tgz"))
        subprocess.run(["tar", "xzf", archive], cwd=folder, check=True)
    return source
