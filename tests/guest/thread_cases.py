# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with threads that do the same natively, under the engine, and recorded."""

# Guests of tests/targets whose output does not depend on the schedule, with their cases.
CASES = [
    ["threads/locks"], ["threads/locks_static"], ["threads/futex"], ["threads/cpp"], ["threads/openmp"],
    *(["threads/lifetime", case] for case in ("many", "detached", "chain", "return", "exit_in_thread", "main_first",
                                          "raw_exit", "crash", "exec", "fork", "cancel")),
    *(["threads/signals", case] for case in ("directed", "restarted", "waited", "masked", "storm", "at_once")),
]

PYTHON = """
import queue, threading
work, done = queue.Queue(), []
def worker():
    while (item := work.get()) is not None:
        done.append(item * item)
        work.task_done()
threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads: t.start()
for i in range(500): work.put(i)
work.join()
for t in threads: work.put(None)
for t in threads: t.join()
print(sum(done), threading.Event().wait(0.01), threading.active_count())
"""


def programs(test):
    """Programs of the system that use threads, on files in the test's directory."""
    text = test.write("text", "".join(f"{i * 7919 % 100003} line {i}\n" for i in range(60000)))
    return [["/usr/bin/sort", "--parallel=2", "-S", "1M", text], ["/usr/bin/xz", "-T2", "-0", "--block-size=200KiB", "-c", text],
            ["/usr/bin/pigz", "-p", "2", "-c", "-n", text], ["/usr/bin/zstd", "-T2", "-q", "-c", text],
            ["/usr/bin/python3", "-c", PYTHON]]
