# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs built with sanitizers, of bzip2's source as Debian has it. The source is kept in the build folder."""
import glob
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
KEPT = os.path.join(HERE, "..", "build", "corpora")
URL = "http://deb.debian.org/debian/pool/main/b/bzip2/bzip2_1.0.8.orig.tar.gz"
SHA256 = "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269"
LIBRARY = ["blocksort.c", "bzlib.c", "compress.c", "crctable.c", "decompress.c", "huffman.c", "randtable.c"]


def source():
    """The folder with bzip2's source."""
    folder = os.path.join(KEPT, "bzip2-1.0.8")
    if not os.path.exists(folder):
        with urllib.request.urlopen(URL, timeout=60) as answer:
            archive = answer.read()
        found = hashlib.sha256(archive).hexdigest()
        if found != SHA256:
            raise SystemExit(f"bench/run: {URL} has the sum {found} and not {SHA256}")
        os.makedirs(KEPT, exist_ok=True)
        # Two of these may run at the same time: the folder appears with everything in it.
        fresh = tempfile.mkdtemp(dir=KEPT)
        with tempfile.TemporaryFile() as file:
            file.write(archive)
            file.seek(0)
            with tarfile.open(fileobj=file) as packed:
                packed.extractall(fresh)
        try:
            os.rename(glob.glob(os.path.join(fresh, "bzip2-*"))[0], folder)
        except OSError:
            assert os.path.exists(folder), f"{folder} is in the way"
        shutil.rmtree(fresh)
    return folder


def build(directory):
    """Makes bzip2-asan and parallel_bzip2-tsan there, with clang."""
    folder = source()
    library = [os.path.join(folder, name) for name in LIBRARY]
    compile_ = ["/usr/bin/clang-22", "-O2", "-g", "-w", "-D_FILE_OFFSET_BITS=64", f"-I{folder}"]
    subprocess.run([*compile_, "-fsanitize=address", "-o", os.path.join(directory, "bzip2-asan"),
                    os.path.join(folder, "bzip2.c"), *library], check=True)
    subprocess.run([*compile_, "-fsanitize=thread", "-pthread", "-o", os.path.join(directory, "parallel_bzip2-tsan"),
                    os.path.join(HERE, "programs", "parallel_bzip2.c"), *library], check=True)
