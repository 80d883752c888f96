# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are not what rdb expects: folders that only look like traces, links, pipes and devices in the place of
files, names that a terminal takes for commands, code that another user can change, sizes that nobody has."""
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import threading
import unittest

import harness

MAKE_TRACE = os.path.join(harness.BUILD, "tests", "make_trace")
ZSTD = "/usr/bin/zstd"
SECRET = "a secret of the user's"
STRANGER = 12345  # a user who is neither this one nor root
# Commands that take a recording and need nothing else.
READERS = [["info"], ["info", "--json"], ["ps"], ["dump"], ["dump", "--chunks"], ["dump", "--files"], ["replay"]]

is_root = unittest.skipUnless(os.geteuid() == 0, "only root can give files to another user")

# What no command may send to a terminal: control characters but the newline, C1, and invisible ones.
HOSTILE = {"escape": "a\x1b[2Jb", "newline": "a\nrdb: all is well", "return": "a\rb", "delete": "a\x7fb", "c1": "a\x9b2Jb",
           "bidi": "a\u202eb", "isolate": "a\u2066b", "separator": "a\u2028b", "zero width": "a\u200bb"}


def invisible(text):
    """The characters of a command's output that should have been escaped."""
    bad = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) <= 0x9f or c in "\u061c\u200b\u200e\u200f\ufeff"
           or 0x2028 <= ord(c) <= 0x202e or 0x2060 <= ord(c) <= 0x206f]
    return "".join(bad)


class SafeCase(harness.TestCase):
    default_timeout = 60

    def setUp(self):
        super().setUp()
        self.program = self.write("sample", "the program's bytes\n")

    def make(self, kind="exit"):
        """A trace; its path."""
        return self.run_program([MAKE_TRACE, kind, self.program], status=0).out.strip()

    def process_folder(self, trace):
        return next(os.path.join(trace, name) for name in sorted(os.listdir(trace)) if name[0].isdigit())

    def refused(self, *args, **how):
        """The one line that a command refused with."""
        result = self.rdb(*args, status=2, **how)
        self.assertRegex(result.err, r"\Ardb: [^\n]*\n\Z")
        self.assertEqual(invisible(result.err), "")
        return result.err

    def null_device(self):
        """A null device that a mistake may replace: for root not the one of the machine."""
        if os.geteuid() != 0:
            return "/dev/null"
        null = self.path("null")
        try:
            os.mknod(null, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            self.content(null)
        except OSError as error:
            self.skipTest(f"no devices can be made here: {error}")
        return null

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def tree(self, path):
        """All that is in a folder, with what files hold."""
        found = {}
        for folder, folders, files in os.walk(path):
            for name in folders + files:
                whole = os.path.join(folder, name)
                regular = stat.S_ISREG(os.lstat(whole).st_mode)
                found[os.path.relpath(whole, path)] = self.content(whole) if regular else None
        return found

    def replace(self, path, how):
        """Puts a link to a secret or a pipe in the place of a file."""
        secret = self.write("secret", SECRET)
        os.rename(path, path + ".moved")
        os.rename(path + ".moved", self.path("moved-" + os.path.basename(path)))
        os.symlink(secret, path) if how == "link" else os.mkfifo(path)


class Rm(SafeCase):
    def test_other_folders_are_left_alone(self):
        for text in ("{}", "{\"name\": \"a package\"}", "", "[" * 1000, "{\"format\": 3, \"rdb_version\": 1, \"id\": 7}"):
            folder = self.path("precious")
            os.makedirs(folder + "/src", exist_ok=True)
            for name in "metadata.json", "src/main.c":
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            before = self.tree(folder)
            self.assertIn("not removed", self.refused("rm", "./precious"))
            self.refused("rm", ".", cwd=folder)
            self.assertEqual(self.tree(folder), before)
        # Nor with only files in it that a trace could have.
        os.unlink(folder + "/src/main.c")
        os.rmdir(folder + "/src")
        self.assertIn("not surely a trace", self.refused("rm", "./precious"))

    def test_a_place_is_no_name(self):
        trace = self.make()
        before = self.tree(trace)
        for name in ".", "./", "../" + os.path.basename(trace) + "/.", self.process_folder(trace) + "/..":
            self.refused("rm", name, cwd=trace)
        self.assertEqual(self.tree(trace), before)

    def test_files_of_the_user_in_a_trace_keep_it(self):
        trace = self.make()
        for name in "notes.txt", os.path.basename(self.process_folder(trace)) + "/notes.txt", "files/notes.txt", "src/a.c":
            os.makedirs(os.path.dirname(os.path.join(trace, name)), exist_ok=True)
            with open(os.path.join(trace, name), "w", encoding="utf-8") as file:
                file.write("mine")
            before = self.tree(trace)
            self.assertIn(name.replace("/a.c", ""), self.refused("rm", "sample-0"))
            self.assertEqual(self.tree(trace), before)
            os.unlink(os.path.join(trace, name))
        os.rmdir(trace + "/src")
        self.rdb("rm", "sample-0", status=0)
        self.assertFalse(os.path.exists(trace))

    def test_links_and_pipes_in_a_trace_are_no_files_of_it(self):
        for how in "link", "pipe":
            for name in "lock", "PROCESS/inputs", "PROCESS/process.json":
                trace = self.make()
                self.replace(os.path.join(trace, name.replace("PROCESS", os.path.basename(self.process_folder(trace)))), how)
                self.assertIn("no file of a trace", self.refused("rm", trace))
                self.assertEqual(self.content(self.path("secret")), SECRET.encode())

    def test_a_link_to_a_trace_is_not_it(self):
        trace = self.make()
        os.symlink(trace, self.path("link"))
        for name in "./link", "./link/":
            self.refused("rm", name)
        self.assertTrue(os.path.exists(trace + "/metadata.json"))

    def test_nothing_is_removed_if_one_is_refused(self):
        trace, other = self.make(), self.make()
        self.write("traces/sample-1/notes", "")
        self.refused("rm", "sample-0", "sample-1")
        self.assertTrue(os.path.exists(trace) and os.path.exists(other))

    def test_damaged_and_interrupted_traces_can_be_removed(self):
        trace = self.make()
        self.write("traces/sample-0/metadata.json", "{\"form")
        self.write("traces/sample-0/metadata.json.new-a1B2c3", "")
        self.write("traces/sample-0/reserve", "")
        self.rdb("rm", "sample-0", status=0)
        self.assertFalse(os.path.exists(trace))


class Names(SafeCase):
    def test_a_name_that_is_here_and_in_the_root_is_asked_about(self):
        trace = self.make()
        self.rdb("pack", "sample-0", "t.zst", status=0)
        self.rdb("unpack", "t.zst", "-o", "sample-0", status=0)
        before = [self.tree(trace), self.tree(self.path("sample-0"))]
        commands = [*READERS, ["rm"], ["gdb", "--server", "./socket"], ["history", "--at", "x.c:1", "x"], ["last-write", "x"],
                    ["print", "--list", "x.c:1-2"]]
        for command in commands:
            complaint = self.refused(*command, "sample-0")
            self.assertIn("./sample-0", complaint, command)
            self.assertIn(trace, complaint, command)
        self.refused("pack", "sample-0", "other.zst")
        self.assertEqual([self.tree(trace), self.tree(self.path("sample-0"))], before)
        # By its path each is the one that is meant; and one trace by two names is one trace.
        self.rdb("info", "sample-0", cwd=self.path("traces"), status=0)
        self.rdb("rm", "./sample-0", status=0)
        self.assertFalse(os.path.exists(self.path("sample-0")))
        self.rdb("info", "sample-0", status=0)

    def test_latest_too(self):
        os.rename(self.make(), self.path("latest"))
        self.make()
        self.assertIn("./latest", self.refused("rm", "latest"))

    def test_a_recording_is_told_of_by_its_path(self):
        self.rdb("record", "-q", "/bin/true", status=0)
        result = self.rdb("record", "-o", "true-0", "/bin/echo", "hello", status=0)
        length = json.loads(self.rdb("info", "--json", "./true-0", status=0).out)["length"]
        self.assertIn(f"recorded {length} instructions, exit 0", result.err)
        self.assertIn(" in true-0 ", result.err)

    def test_names_that_no_trace_may_have(self):
        for name in "-x", "a\x1bb", "a\u202eb", "traces/latest":
            os.makedirs(self.path("traces"), exist_ok=True)
            self.refused("record", "--output=" + name, "/bin/true")
        self.assertEqual(self.tree(self.path("traces")), {})

    def archive(self, top, files=None):
        """A packed trace of another name."""
        trace = self.make()
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            archive.add(trace, arcname=top, filter=lambda entry: None if entry.name.endswith(("/lock", "/reserve")) else entry)
        self.rdb("rm", trace, status=0)
        packed = self.run_program([ZSTD, "-qc"], stdin=buffer.getvalue(), text=False, status=0).out
        with open(self.path("x.zst"), "wb") as file:
            file.write(packed)
        return self.path("x.zst")

    def test_archives_with_other_names_are_refused(self):
        for name in [*HOSTILE.values(), "-x", "latest", ".hidden", "$(touch x)", "a b"]:
            archive = self.archive(name)
            self.assertIn("refused", self.refused("unpack", archive))
            self.assertEqual(os.listdir(self.path("traces")), [], repr(name))
        # What can be seen can be unpacked under another name.
        self.rdb("unpack", archive, "-o", "other", status=0)
        self.rdb("info", "./other", status=0)

    def test_a_trace_of_another_name_can_be_packed(self):
        os.rename(self.make(), self.path("a b\x1b"))
        self.rdb("pack", self.path("a b\x1b"), "t.zst", status=0)
        self.rdb("unpack", "t.zst", status=0)

    def test_names_of_folders_are_shown_escaped(self):
        for i, name in enumerate([*HOSTILE.values(), "-x"]):
            os.rename(self.make(), self.path("traces/" + name))
            for command in ["ls"], ["info", "./traces/" + name], ["dump", "./traces/" + name]:
                result = self.rdb(*command, status=0)
                self.assertEqual(invisible(result.out + result.err), "", repr(name))
            rows = self.rdb("ls", status=0).out.splitlines()[1:]
            self.assertEqual(len(rows), i + 1)
            # The name as it is shown can be typed.
            self.run_program(["/bin/bash", "-c", f"{harness.rdb()} info {rows[-1].split('  ')[0]}"], status=0)

    def test_what_a_trace_says_is_shown_escaped(self):
        trace = self.make()
        path = os.path.join(trace, "metadata.json")
        with open(path, encoding="utf-8") as file:
            original = json.load(file)
        evil = "".join(HOSTILE.values())
        for change in ("program", "directory", "rdb_version", "kernel"), ("cpu", "vendor"), ("end", "reason"), ("command",):
            metadata = json.loads(json.dumps(original))
            for key in change:
                if change[0] in ("cpu", "end"):
                    metadata[change[0]][change[1]] = evil
                else:
                    metadata[key] = [evil, "-x"] if key == "command" else evil
            metadata["environment"] = [evil]
            for file in metadata["files"]:
                file["path"], file["build_id"] = evil, evil
            with open(path, "w", encoding="utf-8") as file:
                json.dump(metadata, file)
            for command in ["ls"], *([*reader, trace] for reader in READERS):
                result = self.rdb(*command)
                self.assertEqual(invisible(result.out + result.err), "", f"{command} {change}\n{result}")
                self.assertNotIn("\nrdb: all is well", result.out + result.err)

    def test_programs_and_arguments_of_any_name(self):
        for name in HOSTILE.values():
            program = self.path(name.replace("/", ""))
            shutil.copy("/bin/true", program)
            self.rdb("record", "-o", "t", program, name, "-x", status=0)
            for command in ["info"], ["info", "--json"], ["ps"], ["dump"], ["dump", "--files"]:
                result = self.rdb(*command, "./t", status=0)
                self.assertEqual(invisible(result.out + result.err), "", f"{command} {name!r}\n{result}")
            # gdb would print the name as it is.
            for command in ["gdb", "./t", "--", "-batch"], ["history", "1", "--at", "main", "./t"], ["last-write", "1", "./t"], \
                    ["gdb", "./t", "--server", "./socket"]:
                self.assertIn("cannot be seen", self.refused(*command))
            # What is shown for a shell means the same to it.
            shown = next(line for line in self.rdb("info", "./t", status=0).out.splitlines() if line.startswith("command"))
            words = self.run_program(["/bin/bash", "-c", f"printf '%s\\0' {shown.split(maxsplit=1)[1]}"], status=0).out
            self.assertEqual(words.split("\0"), [program, name, "-x", ""])
            self.rdb("rm", "./t", status=0)

    def test_names_that_are_refused_are_shown_in_one_line(self):
        name = HOSTILE["newline"]
        shown = name.replace("\n", "\\n")
        self.rdb("record", "-q", "-o", "t", "/bin/true", status=0)
        for command in [name], ["help", name], ["replay", name], ["info", "./" + name], ["record", "./" + name], \
                ["replay", "-m", name, "./t"], ["replay", "-p", name, "./t"], ["gdb", "--at", name, "./t"], \
                ["print", "./t", name, "1"]:
            self.assertIn(shown, self.refused(*command))
        told = self.rdb("replay", "--trace-calls", name, "./t").err
        self.assertIn(f"rdb: nothing in the recording is called {shown}\n", told)

    def test_completion_expands_no_names(self):
        os.makedirs(self.path("traces/$(touch expanded)"))
        os.makedirs(self.path("traces/plain-0"))
        script = self.rdb("completion", "bash", status=0).out + \
            "\nCOMP_WORDS=(rdb info ''); COMP_CWORD=2; _rdb; printf '%s\\n' \"${COMPREPLY[@]}\""
        result = self.run_program(["/bin/bash", "-c", script], status=0)
        self.assertIn("plain-0", result.out)
        self.assertFalse(os.path.exists(self.path("expanded")))


class Outputs(SafeCase):
    """What rdb writes under a name that the user gives."""

    def writers(self):
        """Commands that write a file, and what it begins with."""
        self.make()
        return [(lambda file: ["pack", "sample-0", file], b"\x28\xb5\x2f\xfd"),
                (lambda file: ["dump", "--chunks", "--picture", file, "sample-0"], b"<")]

    def test_links_are_written_through(self):
        for writer, magic in self.writers():
            target = self.write("target", "old")
            os.symlink("target", self.path("out"))
            self.rdb(*writer("out"), status=0)
            self.assertTrue(os.path.islink(self.path("out")))
            self.assertTrue(self.content(target).startswith(magic))
            os.unlink(self.path("out"))

    def test_pipes_are_written_through(self):
        for writer, magic in self.writers():
            os.mkfifo(self.path("out"))
            read = []
            reader = threading.Thread(target=lambda: read.append(self.content(self.path("out"))), daemon=True)
            reader.start()
            self.rdb(*writer("out"), status=0)
            reader.join(60)
            self.assertTrue(stat.S_ISFIFO(os.stat(self.path("out")).st_mode))
            self.assertTrue(read[0].startswith(magic))
            os.unlink(self.path("out"))

    def test_devices_stay_devices(self):
        null = self.null_device()
        for writer, _ in self.writers():
            self.rdb(*writer(null), status=0)
            self.assertTrue(stat.S_ISCHR(os.stat(null).st_mode))

    def test_nobody_can_prepare_the_way(self):
        for writer, magic in self.writers():
            victim = self.write("victim", SECRET)
            for name in "out.new", "out.tmp":
                os.symlink(victim, self.path(name))
            self.rdb(*writer("out"), status=0)
            self.assertEqual(self.content(victim), SECRET.encode())
            self.assertTrue(self.content(self.path("out")).startswith(magic))
            for name in "out.new", "out.tmp", "out":
                os.unlink(self.path(name))
        self.assertEqual([name for name in os.listdir(self.tmp) if name.startswith("out")], [])

    def test_a_failure_leaves_the_old_file(self):
        old = self.write("out", "old")
        trace = self.make()
        os.unlink(self.process_folder(trace) + "/chunks")
        self.refused("pack", "sample-0", "out")
        self.assertEqual(self.content(old), b"old")
        self.assertEqual([name for name in os.listdir(self.tmp) if name.startswith("out")], ["out"])

    def test_modes(self):
        self.make()
        self.rdb("pack", "sample-0", "out", status=0)
        self.assertEqual(os.stat(self.path("out")).st_mode & 0o777, 0o600)
        os.umask(umask := os.umask(0))
        self.rdb("dump", "--chunks", "--picture", "picture", "sample-0", status=0)
        self.assertEqual(os.stat(self.path("picture")).st_mode & 0o777, 0o666 & ~umask)

    def test_manual_pages(self):
        os.mkdir(self.path("pages"))
        os.symlink(self.path("elsewhere"), self.path("pages/rdb.1"))
        self.rdb("completion", "--man", "pages", status=0)
        self.assertTrue(os.path.islink(self.path("pages/rdb.1")))
        self.assertIn(b".TH", self.content(self.path("elsewhere")))


class Pack(SafeCase):
    def test_nothing_from_outside_is_packed(self):
        for how in "link", "pipe":
            for name in "inputs", "chunks", "process.json", "metadata.json", "files", "CONTENT", "PROCESS":
                trace = self.make()
                folder = self.process_folder(trace)
                content = next(os.path.join(trace, "files", name) for name in os.listdir(trace + "/files"))
                path = {"metadata.json": trace + "/metadata.json", "files": trace + "/files", "CONTENT": content,
                        "PROCESS": folder}.get(name, os.path.join(folder, name))
                os.rename(path, self.path("moved"))
                if how == "pipe":
                    os.mkfifo(path)
                elif os.path.isdir(self.path("moved")):
                    os.symlink(self.path("moved"), path)
                else:
                    os.symlink(self.write("secret", SECRET), path)
                self.refused("pack", trace, "out.zst")
                self.assertFalse(os.path.exists(self.path("out.zst")), name)
                for command in READERS:  # nobody waits for the pipe
                    self.assertIn(self.rdb(*command, trace).status, (0, 2, 125), f"{command} {name}")
                self.run_program(["/bin/rm", "-rf", trace, self.path("moved")], status=0)


class Bounds(SafeCase):
    MOST_MEMORY = 700 << 20

    def peak(self, *args):
        """Runs a command; its status, what it said, and the most memory it had."""
        with open(self.path("err"), "wb") as err:
            child = subprocess.Popen([harness.rdb(), *args], cwd=self.tmp, env=self.environment(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        timer = threading.Timer(self.default_timeout, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
        with open(self.path("err"), encoding="utf-8", errors="replace") as err:
            return child.returncode, err.read(), usage.ru_maxrss << 10

    def test_metadata_of_brackets(self):
        trace = self.make()
        size = 60 << 20
        for text in "[" * size, "[]," * (size // 3), "{\"a\":" * (size // 5), "[" + "[[]]," * (size // 5), "\"\"," * 10, \
                "[" + "\"\"," * (size // 3), "[" + "0," * (size // 2):
            with open(os.path.join(trace, "metadata.json"), "w", encoding="utf-8") as file:
                file.write(text)
            for command in ["ls"], ["info", "sample-0"]:
                status, said, memory = self.peak(*command)
                self.assertEqual(status, 0 if command == ["ls"] else 2, said)
                self.assertLess(memory, self.MOST_MEMORY, text[:10])

    def test_other_files_that_are_too_large(self):
        trace = self.make()
        for path, command in ((os.path.join(trace, "metadata.json"), ["info", trace]),
                              (self.process_folder(trace) + "/process.json", ["ps", trace]),
                              (self.path("b/descriptors"), ["inspect", "b"])):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab") as file:
                size = file.tell()
                file.truncate(1 << 40)
            status, said, memory = self.peak(*command)
            self.assertEqual(status, 2, said)
            self.assertIn("too large", said)
            self.assertLess(memory, self.MOST_MEMORY)
            os.truncate(path, size)

    def test_an_archive_that_grows_without_end(self):
        trace = self.make()
        with open(trace + "/metadata.json", "rb") as file:
            metadata = file.read()
        size, room = 2 << 30, os.statvfs(self.tmp)
        if room.f_bavail * room.f_frsize < 1 << 30:
            self.skipTest("less than a gibibyte of disk is free")
        head, bomb = tarfile.TarInfo("a/metadata.json"), tarfile.TarInfo("a/files/0123456789abcdef-80000000")
        head.size, bomb.size = len(metadata), size
        with open(self.path("bomb.zst"), "wb") as out:
            packer = subprocess.Popen([ZSTD, "-qc"], stdin=subprocess.PIPE, stdout=out)
        packer.stdin.write(head.tobuf(tarfile.USTAR_FORMAT) + metadata + bytes(-len(metadata) % 512))
        packer.stdin.write(bomb.tobuf(tarfile.USTAR_FORMAT))
        piece = b"A" * (1 << 20)
        for _ in range(size // len(piece)):
            packer.stdin.write(piece)
        packer.stdin.close()
        self.assertEqual(packer.wait(), 0)
        status, said, memory = self.peak("unpack", "bomb.zst")
        self.assertEqual(status, 2, said)
        self.assertIn("1000 times", said)
        self.assertLess(memory, self.MOST_MEMORY)
        self.assertEqual(sorted(os.listdir(self.path("traces"))), ["latest", "sample-0"])


@harness.needs_compiler
class Trust(SafeCase):
    """Code that is found beside a recorded program runs only if nobody else can have put it there."""
    SOURCE = harness.program_text(__file__, "safe_files.c")
    RUN, PLAIN = "the region sees 7\nthe program\n", "the program\n"

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("home/build"))
        os.chmod(self.path("home"), 0o755)
        os.chmod(self.path("home/build"), 0o755)
        os.chmod(self.tmp, 0o755)
        self.write("home/build/own.h", "static int own(void) { return 7; }\n")
        self.write("home/build/prog.c", self.SOURCE)
        self.build()
        self.rdb("record", "-q", "-o", "trace", "home/build/prog", status=0)

    def build(self):
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "prog.c", "-o", "prog"], cwd=self.path("home/build"),
                         status=0)

    def replay(self, *options):
        return self.rdb("replay", *options, "./trace", status=0)

    def check_refused(self, named):
        result = self.replay()
        self.assertEqual(result.out, self.PLAIN, f"{named}\n{result}")
        self.assertRegex(result.err, rf"rdb: not using .*prog\.rdb: .*{named}")
        complaint = self.refused("replay", "-m", "home/build/prog.rdb", "./trace")
        self.assertIn(named, complaint)

    def test_the_users_own_runs(self):
        self.assertEqual(self.replay().out, self.RUN)
        self.assertEqual(self.replay("-m", "home/build/prog.rdb").out, self.RUN)
        # Others may put files of their own beside it where the sticky bit keeps them from touching this one.
        os.chmod(self.path("home"), 0o1777)
        os.chmod(self.path("home/build"), 0o1777)
        self.assertEqual(self.replay().out, self.RUN)

    def test_the_umask_opens_no_bundle(self):
        umask = os.umask(0)
        self.addCleanup(os.umask, umask)
        self.run_program(["/bin/rm", "-r", self.path("home/build/prog.rdb")], status=0)
        self.build()
        self.assertEqual(self.replay().out, self.RUN)

    def test_what_others_can_write_to_does_not_run(self):
        for name in "home/build/prog.rdb/descriptors", "home/build/prog.rdb/module.so", "home/build/prog.rdb", "home/build", \
                "home":
            mode = os.stat(self.path(name)).st_mode & 0o777
            for more in 0o020, 0o002:
                os.chmod(self.path(name), mode | more)
                self.check_refused(self.path(name))
            os.chmod(self.path(name), mode)
        os.chmod(self.path("home/build/prog.rdb"), 0o1777)  # a bundle is no place for others
        self.check_refused(self.path("home/build/prog.rdb"))
        os.chmod(self.path("home/build/prog.rdb"), 0o755)
        self.assertEqual(self.replay().out, self.RUN)

    def test_links_do_not_run(self):
        for name in "prog.rdb/descriptors", "prog.rdb/module.so", "prog.rdb":
            path = self.path("home/build/" + name)
            os.rename(path, self.path("home/moved"))
            os.symlink(self.path("home/moved"), path)
            self.check_refused(path)
            os.unlink(path)
            os.rename(self.path("home/moved"), path)
        # The user's own links further up are followed.
        os.rename(self.path("home"), self.path("house"))
        os.symlink("house", self.path("home"))
        self.assertEqual(self.replay().out, self.RUN)

    @is_root
    def test_what_belongs_to_others_does_not_run(self):
        for name in "home/build/prog.rdb/descriptors", "home/build/prog.rdb/module.so", "home/build/prog.rdb", "home/build", \
                "home":
            os.chown(self.path(name), STRANGER, STRANGER)
            self.check_refused(self.path(name))
            os.chown(self.path(name), 0, 0)
        # A stranger's link on the way, in a folder that is open to all.
        os.rename(self.path("home"), self.path("house"))
        os.symlink("house", self.path("home"))
        os.lchown(self.path("home"), STRANGER, STRANGER)
        self.check_refused(self.path("home"))

    @is_root
    def test_a_strangers_folder_with_a_link_to_the_users_file(self):
        # The descriptors are the user's own file, the module beside them is not.
        evil = self.path("evil.rdb")
        os.mkdir(evil)
        os.symlink(self.path("home/build/prog.rdb/descriptors"), evil + "/descriptors")
        self.run_program(["/bin/cp", self.path("home/build/prog.rdb/module.so"), evil], status=0)
        os.chown(evil, STRANGER, STRANGER)
        os.chown(evil + "/module.so", STRANGER, STRANGER)
        os.rename(self.path("home/build/prog.rdb"), self.path("home/kept.rdb"))
        os.rename(evil, self.path("home/build/prog.rdb"))
        self.check_refused(self.path("home/build/prog.rdb"))

    def plain_program(self):
        """A recording for rdb print: what it takes, and where it runs."""
        here = {"cwd": self.path("home/build")}
        self.write("home/build/plain.c", "#include \"own.h\"\nint main(void) {\n  int n = own();\n  return n - 7;\n}\n")
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "plain.c", "-o", "plain"], status=0, **here)
        self.rdb("record", "-q", "-o", self.path("plain"), "./plain", status=0, **here)
        return [self.path("plain"), "plain.c:4", "n"], here

    def test_print_compiles_only_what_is_the_users(self):
        where, here = self.plain_program()
        good = self.rdb("print", *where, status=0, **here)
        self.assertIn("n = 7", good.out)
        self.assertNotIn("debug information", good.err)
        for name in "plain.c", "own.h":
            os.chmod(self.path("home/build/" + name), 0o666)
            result = self.rdb("print", *where, status=0, **here)
            self.assertIn("n = 7", result.out)
            self.assertRegex(result.err, rf"{name}: other users can write to it.*debug information")
            os.chmod(self.path("home/build/" + name), 0o644)

    def test_print_takes_no_flags_from_others(self):
        where, here = self.plain_program()
        bad = [{"directory": self.path("home/build"), "file": "plain.c", "command": "cc -g -fplugin=/nowhere.so -c plain.c"}]
        commands = self.write("home/compile_commands.json", json.dumps(bad))
        os.chmod(commands, 0o666)
        result = self.rdb("print", *where, status=0, **here)
        self.assertIn("n = 7", result.out)
        self.assertRegex(result.err, r"not using .*compile_commands\.json: other users can write to it")
        for text in "{", "{}", "[{\"directory\": 1}]", "[" * 100000, "[{\"file\": \"build/plain.c\", \"arguments\": 3}]":
            self.write("home/compile_commands.json", text)
            os.chmod(commands, 0o644)
            self.refused("print", *where, **here)

    def test_inspect_shows_names_escaped(self):
        path = self.path("home/build/prog.rdb/descriptors")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        evil = "".join(f"\\x{byte:02x}" for byte in "".join(HOSTILE.values()).encode())
        text = text[:text.rindex("end ")]
        text = text.replace("prog.c\"", f"prog.c{evil}\"").replace("\"n\"", f"\"n{evil}\"").replace("\"main", f"\"{evil}main")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'{text}end "{hashlib.sha256(text.encode()).hexdigest()}"\n')
        result = self.rdb("inspect", "home/build/prog.rdb", status=0)
        self.assertIn("\\x1b", result.out)
        self.assertEqual(invisible(result.out), "")


@harness.needs_compiler
class BundleFolder(SafeCase):
    """rdb-clang replaces and removes bundles, nothing else."""

    def build(self, source, name="w", status=0):
        self.write("w.c", source)
        return self.run_program([harness.program("rdb-clang"), "w.c", "-o", name], status=status)

    REGION, PLAIN = "int main(void) {\nrdb_begin\nrdb_end\n  return 0;\n}\n", "int main(void) { return 0; }\n"

    def test_other_folders_stay(self):
        os.makedirs(self.path("w.rdb/data"))
        for name in "descriptors", "data/rows":
            self.write("w.rdb/" + name, "mine")
        before = self.tree(self.path("w.rdb"))
        self.build(self.PLAIN)
        self.assertEqual(self.tree(self.path("w.rdb")), before)
        result = self.build(self.REGION, status=1)
        self.assertIn("'w.rdb' is in the way", result.err)
        self.assertEqual(self.tree(self.path("w.rdb")), before)

    def test_a_bundle_with_files_of_the_user_stays(self):
        self.build(self.REGION)
        self.write("w.rdb/notes", "mine")
        before = self.tree(self.path("w.rdb"))
        self.build(self.PLAIN)
        self.assertEqual(self.tree(self.path("w.rdb")), before)
        self.assertIn("notes", self.build(self.REGION, status=1).err)
        self.assertEqual(self.tree(self.path("w.rdb")), before)
        self.assertEqual([name for name in os.listdir(self.tmp) if ".new" in name], [])

    def test_a_link_stays(self):
        self.build(self.REGION, name="other")
        os.symlink("other.rdb", self.path("w.rdb"))
        self.build(self.PLAIN)
        self.build(self.REGION, status=1)
        self.assertTrue(os.path.islink(self.path("w.rdb")))
        self.assertTrue(os.path.exists(self.path("other.rdb/descriptors")))

    def test_a_bundle_is_replaced_and_removed(self):
        self.build(self.REGION)
        old = self.tree(self.path("w.rdb"))
        self.build(self.REGION.replace("return 0", "return 3"))
        self.assertNotEqual(self.tree(self.path("w.rdb")), old)
        self.build(self.PLAIN)
        self.assertFalse(os.path.exists(self.path("w.rdb")))
        self.assertEqual([name for name in os.listdir(self.tmp) if ".new" in name or ".old" in name], [])

    def test_objects_are_written_to_devices_and_links(self):
        self.write("w.c", self.REGION)
        clang = harness.program("rdb-clang")
        victim = self.write("victim", SECRET)
        for name in range(3):
            os.symlink(victim, self.path(f"w.o.rdb-{os.getpid() + name}"))
        self.run_program([clang, "-c", "w.c", "-o", "w.o"], status=0)
        self.assertEqual(self.content(victim), SECRET.encode())
        os.symlink("w.o", self.path("link.o"))
        self.run_program([clang, "-c", "w.c", "-o", "link.o"], status=0)
        null = self.null_device()
        self.run_program([clang, "-c", "w.c", "-o", null])
        self.assertTrue(stat.S_ISCHR(os.stat(null).st_mode))


if __name__ == "__main__":
    harness.main()
