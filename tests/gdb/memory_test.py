# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much memory snapshots take, while the program runs in either direction and when it rests. With --full, by the
default bound too."""
import os
import re
import threading

from remote import RecordingTestCase, Remote, harness

FULL = harness.take_flag("--full")


class Snapshots(RecordingTestCase):
    target = "gdb/long"
    arguments = ("120", "30")
    status = 119
    option, bound, size = ("--memory", "100"), 100, 30

    def memory(self):
        """What the replay processes have of their own, in MiB."""
        total = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    if self.address not in file.read():
                        continue
                with open(f"/proc/{name}/smaps_rollup", encoding="ascii") as file:
                    total += int(re.search(r"Pss_Anon: *(\d+)", file.read())[1])
            except OSError:
                continue
        return total / 1024

    def resume(self, remote, packet):
        """The most memory that there was meanwhile."""
        most, done = [0], threading.Event()

        def look():
            while not done.wait(0.02):
                most[0] = max(most[0], self.memory())

        thread = threading.Thread(target=look)
        thread.start()
        remote.resume(packet)
        done.set()
        thread.join()
        return most[0]

    def test_they_take_no_more_memory_than_allowed(self):
        self.serve(*self.option)
        remote = Remote(self.address)
        remote.socket.settimeout(250)
        self.addCleanup(remote.close)
        remote.ask("qSupported:multiprocess+")
        other = 25  # what a replay process has beside the program's memory
        for packet in ("vCont;c", "bc"):
            most = self.resume(remote, packet)
            self.assertGreater(most, self.size)
            # Meanwhile there are the processes that run, and the last snapshot may not have been counted.
            self.assertLess(most, self.bound + 3 * self.size + 2 * other)
            # The process where the user is comes on top.
            self.assertLess(self.memory(), self.bound + self.size + other)


class FewSnapshots(Snapshots):
    """Not even one fits."""
    arguments = ("60", "30")
    status = 59
    option, bound = ("--memory", "20"), 20


if FULL:
    class ManySnapshots(Snapshots):
        """The bound that there is without asking for one, on a long recording."""
        arguments = ("400", "150")
        status = 143
        option, bound, size = (), 1024, 150


if __name__ == "__main__":
    harness.main()
