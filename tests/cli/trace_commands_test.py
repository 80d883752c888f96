# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that need only a trace: ls, rm, info, dump, pack, unpack, on traces made by tests/trace/make_trace."""
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile

import harness

MAKE_TRACE = os.path.join(harness.BUILD, "tests", "make_trace")
ZSTD = "/usr/bin/zstd"


class TraceCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.write("sample", "the program's bytes\n")

    def make(self, kind="exit"):
        return self.run_program([MAKE_TRACE, kind, self.program], status=0).out.strip()

    def complaint(self, *args):
        """The one line that a command refused with."""
        result = self.rdb(*args, status=2)
        self.assertRegex(result.err, r"\Ardb: [^\n]*\n\Z")
        return result.err


class Ls(TraceCase):
    def test_a_recording_cannot_write_to_memory_of_rdb(self):
        """The stack of the made process lies where no recorded program's does."""
        self.assertIn("writes to 0x7ffd00000000 at time 0, which is not the guest's", self.complaint("replay", self.make()))

    def test_no_traces(self):
        self.assertEqual(self.rdb("ls", status=0).out, f"no recordings in {self.path('traces')}\n")

    def test_table_is_aligned_and_in_order(self):
        for kind in "exit", "signal", "cut":
            self.make(kind)
        lines = self.rdb("ls", status=0).out.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "PROGRAM", "WHEN", "LENGTH", "SIZE", "ENDED"])
        self.assertEqual([line.split()[0] for line in lines[1:]], ["sample-0", "sample-1", "sample-2"])
        ended = lines[0].index("ENDED")
        self.assertEqual([line[ended:] for line in lines[1:]], ["exit 3", "SIGSEGV", "killed"])
        for line in lines[1:]:
            self.assertEqual(line.split()[1], self.program)
            self.assertIn("301.0k", line)  # the length, also of the one whose end was not written

    def test_a_running_recording_is_shown_as_such(self):
        env = self.environment()
        with subprocess.Popen([MAKE_TRACE, "running", self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=env) as child:
            child.stdout.readline()
            self.assertIn("recording", self.rdb("ls", status=0).out)
            self.assertIn("being recorded", self.complaint("rm", "sample-0"))
            self.assertIn("being recorded", self.complaint("pack", "sample-0", "x.tar.zst"))
            child.communicate(b"")
        self.assertIn("exit 3", self.rdb("ls", status=0).out)

    def test_a_damaged_trace_does_not_hide_the_others(self):
        self.make()
        damaged = self.make()
        with open(os.path.join(damaged, "metadata.json"), "r+b") as file:
            file.truncate(100)
        out = self.rdb("ls", status=0).out
        self.assertIn("exit 3", out)
        self.assertIn("damaged", out)
        self.assertRegex(self.complaint("info", "sample-1"), r"metadata.json: damaged at offset \d+")


class Rm(TraceCase):
    def test_removes_and_moves_latest_on(self):
        self.make()
        self.make()
        self.assertEqual(os.readlink(self.path("traces/latest")), "sample-1")
        self.rdb("rm", "sample-1", status=0)
        self.assertFalse(os.path.exists(self.path("traces/sample-1")))
        self.assertEqual(os.readlink(self.path("traces/latest")), "sample-0")
        self.rdb("rm", "latest", status=0)
        self.assertEqual(os.listdir(self.path("traces")), [])

    def test_a_mistyped_name_deletes_nothing(self):
        self.make()
        self.assertIn("sample-9: no such trace", self.complaint("rm", "sample-0", "sample-9"))
        self.assertTrue(os.path.exists(self.path("traces/sample-0")))

    def test_what_is_missing_is_said(self):
        for command in "rm", "pack", "unpack":
            self.assertIn(f"'rdb help {command}'", self.complaint(command))

    def test_only_traces_are_removed(self):
        os.mkdir(self.path("precious"))
        self.assertIn("not a trace", self.complaint("rm", "./precious"))
        self.assertTrue(os.path.exists(self.path("precious")))


class Info(TraceCase):
    def test_latest_is_the_default(self):
        self.make()
        path = self.make("signal")
        out = self.rdb("info", status=0).out
        self.assertIn(path, out)
        self.assertIn("SIGSEGV", out)
        self.assertIn("301010 instructions", out)
        self.assertIn("forked by 4000 at 400", out)

    def test_json_holds_everything(self):
        path = self.make()
        info = json.loads(self.rdb("info", "--json", "sample-0", status=0).out)
        self.assertEqual(info["path"], path)
        self.assertEqual(info["state"], "finished")
        self.assertEqual(info["end"]["kind"], "exited")
        self.assertEqual(info["end"]["status"], 3)
        self.assertEqual(info["length"], 301010)
        self.assertEqual(info["command"], ["sample", "one two", {"hex": "fffe"}])
        self.assertEqual(info["layout_seed"], "000000000000002a")
        self.assertEqual([p["name"] for p in info["processes"]], ["4000", "4002"])
        self.assertEqual([p["complete"] for p in info["processes"]], [True, True])
        self.assertEqual(info["processes"][1]["parent"], "4000")
        self.assertTrue(info["cpu"]["vendor"])
        self.assertEqual(info["files"][0]["path"], self.program)

    def test_permissions_keep_others_out(self):
        path = self.make()
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o700)

    def test_messages_say_where_was_looked(self):
        self.assertIn("no latest recording", self.complaint("info"))
        self.assertIn(self.path("traces"), self.complaint("info", "nothing"))
        self.write("packed", "x")
        self.assertIn("rdb unpack", self.complaint("info", "packed"))

    def test_another_format_version_is_named(self):
        path = self.make()
        metadata = os.path.join(path, "metadata.json")
        with open(metadata, encoding="utf-8") as file:
            text = json.load(file)
        text["format"] = 99
        text["rdb_version"] = "9.9.9"
        with open(metadata, "w", encoding="utf-8") as file:
            json.dump(text, file)
        message = self.complaint("info")
        self.assertIn("format 99", message)
        self.assertIn("9.9.9", message)


class Dump(TraceCase):
    def test_inputs_one_per_line(self):
        self.make("signal")
        lines = self.rdb("dump", "-p", "4000", status=0).out.splitlines()[1:]
        kinds = [line.split()[2] for line in lines]
        self.assertEqual(kinds[:4], ["start", "map", "instruction", "thread-start"])
        self.assertEqual(kinds[-3:], ["checksum", "signal", "exit"])
        self.assertEqual(len(lines), 30_000 + 12)
        text = "\n".join(lines[:12])
        self.assertIn('read = 6 hash 0000000000001111 [0x500000+0x6: "hello\\n"]', text)
        self.assertIn("write = 6 to stdout", text)
        self.assertIn("open = ENOENT", text)
        self.assertIn("rdtsc 0x75bcd15", text)
        self.assertIn(f'map 0x400000+0x1000 r-x flags 0x2 "{self.program}"', text)

    def test_from_and_to(self):
        self.make()
        result = self.rdb("dump", "-p", "4000", "--from", "299990", "--to", "300010", status=0)
        times = [line.split()[0].split(".")[0] for line in result.out.splitlines()[1:]]
        self.assertEqual(times, ["299990", "300000", "300010"])
        self.assertIn("lies after", self.complaint("dump", "--from", "5", "--to", "4"))

    def test_chunks(self):
        self.make()
        lines = self.rdb("dump", "--chunks", "-p", "4000", status=0).out.splitlines()[1:]
        self.assertEqual([line.split() for line in lines],
                         [["0", "250", "4000", "250"], ["250", "340", "4001", "90"],
                          ["340", "301000", "4000", "300660"]])
        lines = self.rdb("dump", "--chunks", "-p", "4000", "--from", "300", "--to", "330", status=0).out.splitlines()[1:]
        self.assertEqual(len(lines), 1)

    def test_files(self):
        path = self.make()
        out = self.rdb("dump", "--files", status=0).out
        self.assertEqual(len(out.splitlines()), 1)
        name, size, mapped = out.split()
        self.assertEqual((int(size), mapped), (20, self.program))
        with open(os.path.join(path, "files", name), encoding="utf-8") as file:
            self.assertEqual(file.read(), "the program's bytes\n")

    def test_no_such_process(self):
        self.make()
        self.assertIn("no process 7", self.complaint("dump", "-p", "7"))

    def test_a_cut_log_is_read_up_to_the_cut_and_the_end_named(self):
        path = self.make()
        log = os.path.join(path, "4000", "inputs")
        size = os.path.getsize(log)
        with open(log, "r+b") as file:
            file.truncate(size * 4 // 5)
        result = self.rdb("dump", "-p", "4000", status=2)
        self.assertGreater(len(result.out.splitlines()), 100)
        self.assertRegex(result.err, r"\Ardb: note: the log is cut off after time \d+: .*/4000/inputs, offset \d+: .*\n\Z")

    def test_the_message_of_a_recording_is_one_line(self):
        result = self.rdb("record", "/bin/true", env={"RDB_TRACE_DIR": self.path("two\nlines")}, status=0)
        self.assertRegex(result.err, r"\Ardb: recorded [^\n]*two\\nlines/true-0[^\n]*\n\Z")

    def test_control_characters_do_not_reach_the_terminal(self):
        self.program = self.write("sam\x1b[31mple", "x")
        self.make()
        for command in ["dump"], ["dump", "--files"], ["info"], ["ls"]:
            self.assertNotIn("\x1b", self.rdb(*command, status=0).out, command)


class Pack(TraceCase):
    def pack(self, kind="exit"):
        self.make(kind)
        self.rdb("pack", "sample-0", "sample.tar.zst", status=0)
        return self.path("sample.tar.zst")

    def archive(self, members, file="bad.tar.zst"):
        """A compressed tar file with these (name, bytes or type) in it."""
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in members:
                info = tarfile.TarInfo(name)
                if content not in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
                else:
                    info.type = content
                    info.linkname = "/etc/passwd"
                    tar.addfile(info)
        done = subprocess.run([ZSTD, "-q", "-c"], input=raw.getvalue(), stdout=subprocess.PIPE, check=True)
        with open(self.path(file), "wb") as out:
            out.write(done.stdout)
        return self.path(file)

    def test_there_and_back(self):
        self.pack()
        before = self.rdb("dump", "sample-0", status=0).out
        self.assertEqual(self.rdb("unpack", "sample.tar.zst", status=0).out, "unpacked as sample-1\n")
        self.assertEqual(self.rdb("dump", "sample-1", status=0).out, before)
        self.assertEqual(self.rdb("dump", "--files", "sample-1", status=0).out,
                         self.rdb("dump", "--files", "sample-0", status=0).out)
        self.rdb("rm", "sample-0", "sample-1", status=0)
        self.assertEqual(self.rdb("unpack", "sample.tar.zst", status=0).out, "unpacked as sample-0\n")
        out = self.rdb("unpack", "sample.tar.zst", "-o", "elsewhere", status=0).out
        self.assertEqual(out, "unpacked as elsewhere\n")
        self.assertEqual(self.rdb("dump", "./elsewhere", status=0).out, before)
        self.assertIn("elsewhere", self.complaint("unpack", "sample.tar.zst", "-o", "elsewhere"))
        self.assertEqual(sorted(os.listdir(self.path("traces"))), ["latest", "sample-0"] if os.path.lexists(
            self.path("traces/latest")) else ["sample-0"])

    def test_an_unfinished_trace_can_be_packed(self):
        self.pack("cut")
        self.rdb("unpack", "sample.tar.zst", status=0)
        self.assertIn("killed", self.rdb("info", "sample-1", status=0).out)

    def test_standard_tools_read_it(self):
        listing = self.run_program(["/usr/bin/tar", "--zstd", "-tf", self.pack()], status=0).out.splitlines()
        self.assertIn("sample-0/metadata.json", listing)
        self.assertIn("sample-0/4002/inputs", listing)
        os.mkdir(self.path("by-tar"))
        self.run_program(["/usr/bin/tar", "--zstd", "-xf", self.path("sample.tar.zst"), "-C", self.path("by-tar")],
                         status=0)
        self.assertIn("exit 3", self.rdb("info", "by-tar/sample-0", status=0).out)

    def test_every_damaged_file_is_refused(self):
        path = self.pack()
        with open(path, "rb") as file:
            packed = file.read()
        step = max(1, len(packed) // 40)
        for at in range(0, len(packed), step):
            for name, bytes_ in ("flip", packed[:at] + bytes([packed[at] ^ 0x10]) + packed[at + 1:]), ("cut", packed[:at]):
                with open(self.path("bad"), "wb") as file:
                    file.write(bytes_)
                result = self.rdb("unpack", "bad")
                with self.subTest(at=at, how=name):
                    self.assertEqual(result.status, 2, result)
                    self.assertRegex(result.err, r"\Ardb: bad: [^\n]*\n\Z")
        self.assertEqual(sorted(os.listdir(self.path("traces"))), ["latest", "sample-0"])

    def test_paths_that_escape_are_refused(self):
        for members in ([("../evil", b"x")], [("/evil", b"x")], [("a/../../evil", b"x")], [("a/files/../../evil", b"x")],
                        [("a/metadata.json", b"{}"), ("b/metadata.json", b"{}")],
                        [("a/metadata.json", tarfile.SYMTYPE)], [("a/1/inputs", tarfile.LNKTYPE)],
                        [("a/evil", b"x")], [("a/1/evil", b"x")], [("a/lock", b"")], [("metadata.json", b"{}")],
                        [("a/metadata.json", b"{}"), ("a/metadata.json", b"{}")],
                        [("a/files/0123456789abcdef-1", b"x")]):
            with self.subTest(members=members):
                message = self.complaint("unpack", self.archive(members))
                self.assertRegex(message, "refused|content that its name")
        self.assertEqual(os.listdir(self.path("traces")), [])

    def test_nothing_is_left_by_what_is_ended(self):
        self.rdb("record", "-q", "-o", "long", "/usr/bin/dd", "if=/dev/urandom", "of=/dev/null", "bs=64k", "count=500", "status=none", status=0)
        self.rdb("pack", "./long", "long.tar.zst", status=0)
        for command in (("pack", "./long", "place/t"), ("unpack", "-o", "place/t", "long.tar.zst")):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
                with self.subTest(command, signal=number):
                    os.mkdir(self.path("place"))
                    child = subprocess.Popen([harness.rdb(), *command], cwd=self.tmp, env=self.environment(), stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE)
                    while not os.listdir(self.path("place")) and child.poll() is None:
                        pass
                    child.send_signal(number)
                    child.communicate(timeout=60)
                    self.assertIn(os.listdir(self.path("place")), ([], ["t"]))
                    shutil.rmtree(self.path("place"))

    def test_what_is_no_packed_trace_is_refused(self):
        self.write("text", "hello")
        self.assertIn("not made by rdb pack", self.complaint("unpack", "text"))
        self.assertIn("No such file", self.complaint("unpack", "missing"))
        self.assertIn("holds no trace", self.complaint("unpack", self.archive([])))
        self.assertIn("metadata.json", self.complaint("unpack", self.archive([("a/metadata.json", b"{}")])))


if __name__ == "__main__":
    harness.main()
