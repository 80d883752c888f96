# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python in a user's gdb looks in PYTHONPATH after its own library: a module that is there by the name of one of the
library's would keep gdb, and rdb's commands in it, from working. `rdb gdb` lets PYTHONPATH name this folder, so that
Python runs this file when it starts, before anything of the user's, and has put the user's value elsewhere."""
import os
import sys


def add_users_folders():
    here = os.path.realpath(os.path.dirname(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != here]
    users = os.environ.pop("RDB_PYTHONPATH", "")
    os.environ["PYTHONPATH"] = users  # for programs that are started from gdb
    # What lies in the current directory is not for gdb.
    folders = [folder for folder in users.split(os.pathsep) if os.path.isabs(folder) and folder not in sys.path]
    packages = [i for i, folder in enumerate(sys.path) if folder.endswith("-packages")]
    at = packages[0] if packages else len(sys.path)
    sys.path[at:at] = folders


def run_the_machines_own():
    """The file of this name that Python would have found."""
    import importlib.machinery
    import importlib.util
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


add_users_folders()
run_the_machines_own()
