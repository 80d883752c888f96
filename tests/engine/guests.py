# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the engine's tests share: the ways to run a guest under rdb, and comparing them with the native run."""
import re

import harness

# name → options of `rdb run`
ENGINES = {"fast": [], "eager": ["--engine=eager"], "blocks": ["--engine=blocks"], "step": ["--engine=step"],
           "lockstep": ["--lockstep"]}


def statistics(text):
    """The lines of --stats as {name: text}, e.g. {"guest instructions": "1234"}."""
    return dict(re.findall(r"^((?:guest instructions|blocks|translations|time in engine|peak cache)): (.*)$", text, re.MULTILINE))


def instructions(text):
    """The exact count in the output of --stats; digits may be grouped."""
    return int(re.sub(r"[^0-9]", "", statistics(text)["guest instructions"].split()[0]))


class GuestTest(harness.TestCase):
    default_timeout = 300

    def rdb_run(self, options, argv, **how):
        return self.run_program([harness.rdb(), "run", *options, "--", *argv], **how)

    def compare(self, argv, engine, **how):
        """The guest under rdb does what it does natively: output, errors, exit status."""
        native = self.run_program(argv, text=False, **how)
        result = self.rdb_run(ENGINES[engine], argv, text=False, **how)
        self.assert_same(native, result)
        return result

    def assert_same(self, native, result):
        if (native.status, native.out, native.err) != (result.status, result.out, result.err):
            self.fail(f"native: status {native.status}, rdb: status {result.status}\n"
                      + difference("stdout", native.out, result.out) + difference("stderr", native.err, result.err))


def difference(title, native, result):
    """The first lines in which two outputs differ."""
    if native == result:
        return ""
    native, result = native.splitlines(), result.splitlines()
    shown = []
    for number in range(max(len(native), len(result))):
        left = native[number] if number < len(native) else None
        right = result[number] if number < len(result) else None
        if left != right:
            shown.append(f"  line {number + 1}\n    native {left!r:.400}\n    rdb    {right!r:.400}\n")
    return f"--- {title}: {len(shown)} lines differ\n" + "".join(shown[:8])
