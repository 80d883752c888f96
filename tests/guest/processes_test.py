# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that start others, and programs that make their own code: the same output and status natively, under rdb
run, and recorded; every process of a recording replays. With --full also what takes long."""
import os
import shutil
import unittest

import harness

FULL = harness.take_flag("--full")

GIT = ("git init -q g && cd g && git config user.email a@b && git config user.name n && echo 1 > f && git add f && "
       "git commit -qm one && git log --format=%s && git status --short && git gc -q && git fsck 2>/dev/null")
MAKE = (r'printf "int main(){return 3;}\n" > a.c; printf "a: a.c\n\tgcc -o a a.c\nall: a\n" > Makefile; '
        "make -s all; ./a; echo $?")
PYTHON = """/usr/bin/python3 -c '
import subprocess
print(subprocess.run(["echo", "x"], capture_output=True).stdout, subprocess.call(["sh", "-c", "exit 4"]))
try: subprocess.run(["/nowhere"])
except FileNotFoundError as e: print(e)'"""

# (what it needs, the shell's command)
SHORT = [
    ("sort", 'seq 1000 | sort -rn | head -3 | tr "\\n" , ; echo; (exit 3); echo $?'),
    ("sort", "for i in 1 2 3; do echo $i & done | sort; wait"),
    ("perl", "perl -e 'print `echo hi`; system(q(exit 3)); print $?>>8, qq(\\n)'"),
    ("find", 'find /etc -maxdepth 1 -name "p*" -exec basename {} \\; 2>/dev/null | sort | head -3'),
    ("xargs", "seq 5 | xargs -n2 -P2 echo | sort"),
    ("bash", 'trap "echo trapped" USR1; kill -USR1 $$; sleep 0.05 & wait $!; echo $?'),
    ("dash", 'dash -c "echo a | cat | cat; ls /nonexistent || echo no"'),
    ("gawk", """gawk 'BEGIN { "echo sub" | getline x; print x; system("echo sys") }'"""),
    ("timeout", "timeout 0.2 sleep 5; echo $?"),
    ("env", "env -i /usr/bin/env; env -i A=b /usr/bin/env; nohup true 2>/dev/null; nice -n 3 true"),
    ("tar", "echo hi > h; tar cf - h | tar tf -; tar czf h.tgz h; tar tzf h.tgz"),
    ("gzip", "seq 2000 | gzip | gunzip | tail -1; seq 100 | bzip2 | bunzip2 | tail -1"),
    ("bash", 'cat <(echo process) <(echo substitution); diff <(seq 3) <(seq 2 4)'),
    ("setsid", "setsid true; echo $?; (sleep 0.1; echo late) & echo early; wait"),
    ("bash", 'exec 3< <(echo three); read x <&3; echo $x; coproc { tr a b; }; echo aa >&${COPROC[1]}; '
             'eval "exec ${COPROC[1]}>&-"; cat <&${COPROC[0]}'),
    ("bash", "ulimit -n 50; ulimit -v 4000000; bash -c 'ulimit -n; ulimit -v'; (ulimit -s 256; bash -c 'ulimit -s')"),
    ("sed", "printf '#!/bin/sed -f\\ns/a/b/\\n' > s; chmod +x s; echo aaa | ./s"),
]
LONG = [
    ("git", GIT),
    ("gcc", MAKE),
    ("python3", PYTHON),
    ("pigz", "seq 200000 | pigz -p 2 | pigz -dc | tail -1"),
    ("xz", "seq 200000 | xz -T2 --block-size=100000 | xz -T2 -dc | tail -1"),
    ("zstd", "seq 300000 | zstd -q -T2 | zstd -qdc | tail -1"),
    ("sort", "seq 200000 | sort --parallel=2 -rn | head -1; seq 1000 | shuf --random-source=/bin/ls | sort --parallel=2 -n | "
             "tail -1"),
    ("clang-22", 'printf "int main(){return 3;}\n" > a.c; clang-22 -O2 a.c -o a; ./a; echo $?'),
    ("make", r'printf "all: a b c\n%%: ; @echo $@ > $@\n" > Makefile; make -s -j2 all; cat a b c'),
    ("gdb", "gdb -q -nx -batch -ex 'print 6*7' -ex 'info line main' /bin/true"),
    ("tclsh", 'echo "puts [exec echo tcl]" | tclsh'),
    ("script", 'script -qc "echo tty" /dev/null'),
    ("tmux", 'export TMUX_TMPDIR=$PWD; tmux -f /dev/null new-session -d "sleep 1000"; '
             'tmux list-sessions -F "#{session_windows}"; tmux kill-server; echo $?'),
    ("node", 'node -e "let s=0; for (let i=0; i<3e6; i++) s+=i%7; console.log(s)"'),
    ("luajit", 'luajit -e "local s=0 for i=1,1e7 do s=s+i%7 end print(s)"'),
    ("java", "java -version 2>&1 | wc -l"),
    ("R", "R --no-save --slave -e 'cat(sum(1:100), system(\"echo sub\", intern=TRUE), \"\\n\")'"),
]


class Processes(harness.TestCase):
    def run_in(self, folder, command, words):
        """In a new folder of that name, so that each run finds the same."""
        path = self.path(folder)
        os.makedirs(path)
        result = self.run_program(words + ["/bin/bash", "-c", command], cwd=path)
        shutil.rmtree(path)
        return result

    def check(self, commands, record):
        for index, (needs, command) in enumerate(commands):
            if shutil.which(needs, path="/usr/local/bin:/usr/bin:/bin") is None:
                continue
            with self.subTest(command):
                native = self.run_in("work", command, [])
                live = self.run_in("work", command, [harness.rdb(), "run"])
                self.assertEqual((live.out, live.status), (native.out, native.status), str(live))
                if not record:
                    continue
                trace = self.path(f"trace{index}")
                recorded = self.run_in("work", command, [harness.rdb(), "record", "-q", "-o", trace])
                self.assertEqual((recorded.out, recorded.status), (native.out, native.status), str(recorded))
                self.replay_processes(trace, "-q")

    def test_short(self):
        self.check(SHORT, record=False)

    def test_some_recorded(self):
        self.check(SHORT[:8], record=True)

    def test_git_and_make(self):
        self.check(LONG[:2], record=False)

    @unittest.skipUnless(FULL, "long")
    def test_pythons_own_tests(self):
        for name in ("test_threading", "test_signal", "test_subprocess", "test_os", "test_queue"):
            with self.subTest(name):
                result = self.run_program([harness.rdb(), "run", "/usr/bin/python3", "-m", "unittest", "-q", f"test.{name}"],
                                          timeout=1500)
                if "No module named 'test." in result.err:
                    self.skipTest("Python's test suite is not installed: scripts/deps --full")
                self.assertEqual(result.status, 0, f"\n{result}")

    @unittest.skipUnless(FULL, "long")
    def test_all_recorded(self):
        self.check(SHORT[8:] + LONG, record=True)


if __name__ == "__main__":
    harness.main()
