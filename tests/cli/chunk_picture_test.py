# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb dump --chunks --picture draws the turns of a recording's threads: well-formed SVG, a lane for each thread, and
marks for what the log holds."""
import re
import xml.etree.ElementTree as xml

import harness

SVG = "{http://www.w3.org/2000/svg}"


class ChunkPicture(harness.TestCase):
    def draw(self, *options):
        picture = self.path("picture.svg")
        result = self.rdb("dump", "--chunks", "--picture", picture, *options, self.path("trace"), status=0)
        self.assertEqual(result.out, "")
        return xml.parse(picture).getroot()

    def lanes(self, root):
        texts = [text.text for text in root.iter(SVG + "text")]
        return [int(text.split()[1]) for text in texts if re.fullmatch(r"thread \d+", text)]

    def titles(self, root, kind):
        marks = [mark for mark in root.iter() if mark.get("class") == kind]
        return [title.text for mark in marks for title in mark.iter(SVG + "title")]

    def test_threads_calls_and_hand_overs(self):
        self.rdb("record", "-q", "--chunk", "20000", "-o", self.path("trace"), harness.target("threads/race"), status=0)
        root = self.draw()
        listed = self.rdb("dump", "--chunks", self.path("trace"), status=0).out.splitlines()
        threads = {int(line.split()[2]) for line in listed}
        self.assertEqual(set(self.lanes(root)), threads)
        self.assertEqual(len(self.titles(root, "begin")), len(threads) - 1)
        self.assertIn("started by", "".join(self.titles(root, "begin")))
        self.assertTrue(self.titles(root, "end"))
        calls = "".join(self.titles(root, "call"))
        self.assertIn("clone = ", calls)
        # The bars of a lane are its turns, in order and within the picture.
        view = [float(word) for word in root.get("viewBox").split()]
        bars = [bar for bar in root.iter(SVG + "rect") if bar.find(SVG + "title") is not None and not bar.get("class")]
        self.assertGreaterEqual(len(bars), len(threads))
        for bar in bars:
            self.assertLessEqual(float(bar.get("x")) + float(bar.get("width")), view[2])
        handovers = [line for line in root.iter(SVG + "line") if line.get("class") == "handover"]
        self.assertGreater(len(handovers), len(threads))

    def test_signals_are_marked(self):
        self.rdb("record", "-q", "-o", self.path("trace"), harness.target("threads/signals"), "directed", status=0)
        signals = self.titles(self.draw(), "signal")
        self.assertTrue(any("SIG" in title for title in signals), signals)

    def test_a_part_of_the_run(self):
        self.rdb("record", "-q", "-o", self.path("trace"), harness.target("threads/race"), status=0)
        root = self.draw("--from", "1000", "--to", "2000")
        self.assertIn("times 1000 to 2000", "".join(text.text for text in root.iter(SVG + "text")))

    def test_what_cannot_be_drawn_is_refused(self):
        self.rdb("record", "-q", "-o", self.path("trace"), "/bin/true", status=0)
        result = self.rdb("dump", "--chunks", "--picture", "/nowhere/x.svg", self.path("trace"), status=2)
        self.assertIn("/nowhere/x.svg", result.err)
        result = self.rdb("dump", "--chunks", "--picture", self.path("x.svg"), "--from", "4000000000000",
                          self.path("trace"), status=2)
        self.assertIn("nothing of the run", result.err)
        self.rdb("dump", "--picture", self.path("x.svg"), self.path("trace"), status=2)


if __name__ == "__main__":
    harness.main()
