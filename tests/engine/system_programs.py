# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs of the system, single-threaded, each with its arguments, its input and the files that it works on."""
import hashlib
import os
import shutil
import subprocess

import harness

PYTHON = """
import json, re, collections, hashlib, decimal, itertools, functools
words = re.findall(r"[a-z]+", open("text").read().lower())
print(json.dumps(collections.Counter(words).most_common(5)), hashlib.sha256(b"x" * 100000).hexdigest())
print(sum(decimal.Decimal(1) / n for n in range(1, 200)), [p for p in range(2, 200) if all(p % d for d in range(2, p))][-3:])
class A(dict):
    def __missing__(self, k): raise KeyError(k)
try: A()["x"]
except KeyError as e: print(repr(e))
"""
PERL = r'my %c; open F, "text"; while (<F>) { $c{$_}++ for split /\W+/ } ' \
       r'print join(",", map {"$_=$c{$_}"} (sort keys %c)[0..9]), "\n"; ' \
       r'print join(" ", sort { $a <=> $b } map { $_ * 7919 % 1009 } 1..200), "\n"; ' \
       r'printf "%.10f %s\n", atan2(1,1)*4, ucfirst lc "PERL";'
SQL = ("create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where "
       "i<3000) "
       "insert into t select i, printf('%x', i*7919) from n; create index tb on t(b); select count(*), sum(a) from t where b "
       "like '%a%'; "
       "select substr(b,1,1), count(*) from t group by 1 order by 1;")

# {cc1} is the compiler proper.
COMMANDS = {
    "true": ["/usr/bin/true"],
    "false": ["/usr/bin/false"],
    "echo": ["/usr/bin/echo", "-e", r"a\tb\n", "c"],
    "cat": ["/usr/bin/cat", "-n", "text", "lines"],
    "ls": ["/usr/bin/ls", "-l", "--time-style=+%s", "."],
    "ls_recursive": ["/usr/bin/ls", "-R", "--color=always", "/usr/share/doc/bash", "."],
    "wc": ["/usr/bin/wc", "text", "lines"],
    "sort": ["/usr/bin/sort", "--parallel=1", "-k2", "-n", "lines"],
    "sort_unique": ["/usr/bin/sort", "--parallel=1", "-u", "-r", "-o", "sorted", "lines"],
    "uniq": ["/usr/bin/uniq", "-c", "lines"],
    "cut": ["/usr/bin/cut", "-d", " ", "-f2", "lines"],
    "tr": ["/usr/bin/tr", "a-z", "A-Z"],
    "od": ["/usr/bin/od", "-A", "x", "-t", "x1z", "binary"],
    "md5sum": ["/usr/bin/md5sum", "text", "lines", "binary"],
    "sha256sum": ["/usr/bin/sha256sum", "binary"],
    "b2sum": ["/usr/bin/b2sum", "binary"],
    "cksum": ["/usr/bin/cksum", "binary"],
    "factor": ["/usr/bin/factor", "1234567890123456789", "18446744073709551557"],
    "seq": ["/usr/bin/seq", "-f", "%.3f", "1", "0.37", "300"],
    "expr": ["/usr/bin/expr", "abcdef", ":", r".*\(c.e\)"],
    "date": ["/usr/bin/date", "-u", "-d", "2001-02-03 04:05:06 +3 days", "+%A %c"],
    "dd": ["/usr/bin/dd", "if=text", "of=copy", "bs=16", "status=none"],
    "cp": ["/usr/bin/cp", "-a", "tree", "tree2"],
    "mv_rm": ["/usr/bin/rm", "-rf", "tree"],
    "mkdir": ["/usr/bin/mkdir", "-p", "x/y/z"],
    "stat": ["/usr/bin/stat", "-c", "%n %s %a", "text", "nothing"],
    "base64": ["/usr/bin/base64", "binary"],
    "join": ["/usr/bin/join", "-1", "2", "-2", "2", "lines", "lines"],
    "split": ["/usr/bin/split", "-l", "100", "lines", "part-"],
    "shuf": ["/usr/bin/shuf", "--random-source=binary", "lines"],
    "numfmt": ["/usr/bin/numfmt", "--to=iec", "1234567", "99", "123456789012"],
    "find": ["/usr/bin/find", "tree", "-type", "f", "-name", "*.txt", "-printf", "%p %s\n"],
    "grep": ["/usr/bin/grep", "-n", "-E", "(xyz|rin) [a-c][a-z]*n ", "text"],
    "grep_fixed": ["/usr/bin/grep", "-c", "-i", "-F", "the", "text", "lines"],
    "grep_none": ["/usr/bin/grep", "zzzzzz", "text"],
    "sed": ["/usr/bin/sed", "-E", r"s/([a-z]+) ([a-z]+)/\2 \1/g; 5,9d; y/e/E/", "text"],
    "awk": ["/usr/bin/awk", '{ n[$2] += $1 } END { for (k in n) s += n[k]; print s, NR, sin(1), sprintf("%5.2e", s) }', "lines"],
    "mawk": ["/usr/bin/mawk", '{ print length($0), toupper(substr($0, 3)) }', "lines"],
    "gawk": ["/usr/bin/gawk",
             'BEGIN { for (i = 0; i < 2000; i++) a[i] = i * i % 97; n = asort(a); print n, a[1], a[n]; print gensub(/b(.)/, '
             '"<\\\\1>", "g", "abcabd") }'],
    "perl": ["/usr/bin/perl", "-e", PERL],
    "perl_text": ["/usr/bin/perl", "-pe", r"s/(\w+)/scalar reverse $1/ge", "text"],
    "python3": ["/usr/bin/python3", "-S", "-c", PYTHON],
    "python3_pass": ["/usr/bin/python3", "-c", "pass"],
    "python3_traceback": ["/usr/bin/python3", "-c", "def f(n): return 1/n if n == 0 else f(n-1)\nf(30)"],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    "sqlite3_file": ["/usr/bin/sqlite3", "database", SQL],
    "bc": ["/usr/bin/bc", "-l"],
    "cc1": ["{cc1}", "-quiet", "-imultiarch", "x86_64-linux-gnu", "-O2", "program.c", "-o", "program.s"],
    "cc1plus": ["{cc1plus}", "-quiet", "-O1", "program.cc", "-o", "program.s"],
    "cpp": ["{cc1}", "-E", "-quiet", "-imultiarch", "x86_64-linux-gnu", "program.c"],
    "as": ["/usr/bin/as", "assembly.s", "-o", "assembly.o"],
    "ld": ["/usr/bin/ld", "-r", "-o", "linked.o", "object.o"],
    "nm": ["/usr/bin/nm", "object.o"],
    "objdump": ["/usr/bin/objdump", "-d", "object.o"],
    "readelf": ["/usr/bin/readelf", "-a", "-W", "object.o"],
    "strip": ["/usr/bin/strip", "-o", "stripped.o", "object.o"],
    "ar": ["/usr/bin/ar", "rcD", "archive.a", "object.o"],
    "size": ["/usr/bin/size", "object.o", "/usr/bin/true"],
    "strings": ["/usr/bin/strings", "-n", "8", "object.o"],
    "git_log": ["/usr/bin/git", "--no-pager", "-C", "repository", "log", "--stat", "-p"],
    "git_diff": ["/usr/bin/git", "--no-pager", "diff", "--no-index", "--stat", "text", "lines"],
    "git_hash": ["/usr/bin/git", "hash-object", "text", "lines"],
    "git_fsck": ["/usr/bin/git", "-C", "repository", "fsck", "--no-progress"],
    "openssl_digest": ["/usr/bin/openssl", "dgst", "-sha512", "binary"],
    "openssl_cipher": ["/usr/bin/openssl", "enc", "-aes-256-ctr", "-K", "00" * 32, "-iv", "11" * 16, "-in", "binary", "-out",
                       "cipher"],
    "openssl_sign": ["/usr/bin/openssl", "dgst", "-sha256", "-sign", "key.pem", "-hex", "text"],
    "openssl_rsa": ["/usr/bin/openssl", "pkey", "-in", "key.pem", "-noout", "-text"],
    "xz": ["/usr/bin/xz", "-T1", "-1", "-k", "text"],
    "xz_decompress": ["/usr/bin/xz", "-T1", "-dc", "text2.xz"],
    "zstd": ["/usr/bin/zstd", "-q", "--single-thread", "--no-asyncio", "-9", "text", "-o", "text.zst"],
    "bzip2": ["/usr/bin/bzip2", "-9", "-k", "text"],
    "bzip2_decompress": ["/usr/bin/bzip2", "-dc", "text2.bz2"],
    "gzip": ["/usr/bin/gzip", "-n", "-9", "-c", "text"],
    "gzip_decompress": ["/usr/bin/gzip", "-dc", "text2.gz"],
    "tar_create": ["/usr/bin/tar", "--sort=name", "-cf", "tree.tar", "tree"],
    "tar_list": ["/usr/bin/tar", "-tvf", "archive.tar"],
    "file": ["/usr/bin/file", "text", "object.o", "archive.tar", "key.pem", "text2.xz"],
    "diff": ["/usr/bin/diff", "-u", "text", "lines"],
    "cmp": ["/usr/bin/cmp", "-l", "text", "lines"],
    "patch": ["/usr/bin/patch", "-p0", "-i", "change.patch"],
    "make_n": ["/usr/bin/make", "-n", "-f", "Makefile", "all"],
    "bash": ["/bin/bash", "-c",
             'for ((i = 0; i < 300; i++)); do ((s += i * i)); a[i]=$s; done; echo "$s ${#a[@]} ${a[7]//1/x}"; [[ abc =~ b(.) '
             ']] && echo "${BASH_REMATCH[1]}"'],
    "dash": ["/bin/dash", "-c", 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; echo $i; exit 9'],
    "iconv": ["/usr/bin/iconv", "-f", "LATIN1", "-t", "UTF-8", "binary"],
    "ldconfig": ["/sbin/ldconfig", "-p"],
    "dpkg": ["/usr/bin/dpkg", "-L", "coreutils"],
    "missing_file": ["/usr/bin/cat", "no such file"],
    "tclsh": ["/usr/bin/tclsh", "script.tcl"],
    "jq": ["/usr/bin/jq", "-S", ".list | map(.n * 2) | add", "data.json"],
    "xxd": ["/usr/bin/xxd", "-l", "2000", "binary"],
    "ed": ["/usr/bin/ed", "-s", "text"],
    "lz4": ["/usr/bin/lz4", "-q", "-9", "text", "text.lz4"],
}
STDIN = {
    "tr": "the quick brown fox\n" * 50,
    "bc": "scale=60\n4*a(1)\nfor (i=1;i<40;i++) i^i\nsqrt(2)\n",
    "ed": "1,3p\n2d\n$a\nnew\n.\nw\nq\n",
}
LOCKSTEP = ["true", "ls", "sort", "grep", "awk", "perl", "md5sum", "factor", "od", "sed"]
STEP = ["python3_pass", "sqlite3", "gzip", "openssl_digest", "git_log", "bc", "bash", "xz_decompress", "tar_list"]
# Not on every machine: scripts/deps does not install these.
OPTIONAL = {"tclsh", "jq", "xxd", "ed", "lz4", "cc1plus"}

PROGRAM_C = harness.program_text(__file__, "system_programs.c")
PROGRAM_CC = harness.program_text(__file__, "system_programs.cc")


def quiet(*argv, **how):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)


def compiler(name):
    path = subprocess.run(["/usr/bin/gcc", f"-print-prog-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else ""


def make_fixture(directory):
    """The files that the commands work on: the same in every run."""
    def write(name, text):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    words = [f"{'abcdefghij'[i % 10]}{'theorin'[i * 3 % 7:]}{'xyz'[:i % 4]}" for i in range(97)]
    write("text", "".join(" ".join(words[(i * 31 + j * 17) % 97] for j in range(9)) + "\n" for i in range(700)))
    write("lines", "".join(f"{i * 7919 % 1009} word{i % 50:02d}\n" for i in range(1200)))
    state, data = 1, bytearray()
    for _ in range(40000):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        data.append(state >> 16 & 0xff)
    write("binary", bytes(data))
    write("program.c", PROGRAM_C)
    write("program.cc", PROGRAM_CC)
    write("data.json", '{"list": [' + ", ".join(f'{{"n": {i}, "s": "{words[i % 97]}"}}' for i in range(300)) + "]}")
    write("script.tcl", 'set l {}; for {set i 0} {$i < 500} {incr i} {lappend l [expr {$i * 7919 % 1009}]}\n'
                        'puts [lrange [lsort -integer $l] 0 9]; puts [regexp -all {a+b} "aabxab"]; puts [string map {a b} '
                        'banana]\n')
    write("Makefile", "all: a b\na: c\n\tbuild a from $^\nb: c\n\tbuild $@ $(words x y z) $(patsubst %.c,%.o,p.c q.c)\nc:\n"
                      "\tmake c\n")
    write("change.patch",
          "--- program.c\n+++ program.c\n@@ -1,4 +1,4 @@\n \n #include <stdio.h>\n-#include <string.h>\n+#include "
          "<strings.h>\n static int table[64];\n")
    for i in range(12):
        path = os.path.join(directory, "tree", f"d{i % 3}", f"e{i % 2}")
        os.makedirs(path, exist_ok=True)
        write(f"tree/d{i % 3}/e{i % 2}/f{i}.{'txt' if i % 4 else 'dat'}", f"file {i}\n" * i)
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "LC_ALL": "C"}
    for name, key in ("NAME", "rdb"), ("EMAIL", "rdb@example.com"), ("DATE", "2001-02-03T04:05:06Z"):
        environment[f"GIT_AUTHOR_{name}"] = environment[f"GIT_COMMITTER_{name}"] = key
    quiet("/usr/bin/gcc", "-O1", "-c", "program.c", "-o", "object.o", cwd=directory, env=environment)
    quiet("/usr/bin/gcc", "-O1", "-S", "program.c", "-o", "assembly.s", cwd=directory, env=environment)
    quiet("/usr/bin/openssl", "genrsa", "-out", "key.pem", "1024", cwd=directory, env=environment)
    shutil.copy(os.path.join(directory, "text"), os.path.join(directory, "text2"))
    for program in "xz", "bzip2", "gzip":
        quiet(f"/usr/bin/{program}", "-k", "text2", cwd=directory, env=environment)
    quiet("/usr/bin/tar", "--sort=name", "--mtime=@0", "-cf", "archive.tar", "tree", cwd=directory, env=environment)
    repository = os.path.join(directory, "repository")
    quiet("/usr/bin/git", "init", "-q", "--template=", repository, env=environment)
    for i in range(6):
        write(f"repository/file{i % 3}", "".join(f"line {j * (i + 1) % 23}\n" for j in range(40)))
        quiet("/usr/bin/git", "add", "-A", cwd=repository, env=environment)
        quiet("/usr/bin/git", "commit", "-q", "-m", f"Change {i}", cwd=repository, env=environment)
    for root, folders, files in os.walk(directory):
        for name in folders + files:
            os.utime(os.path.join(root, name), (981173106, 981173106), follow_symlinks=False)


def tree_state(directory):
    """{path: hash of its contents}"""
    state = {}
    for root, folders, files in os.walk(directory):
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                state[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
        for name in folders:
            state[os.path.relpath(os.path.join(root, name), directory)] = "folder"
    return state
