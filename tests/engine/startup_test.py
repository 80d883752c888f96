# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a guest finds at its start: arguments, environment, auxiliary vector, mappings; how it is found and named."""
import os

import guests
import harness

ENVIRONMENT = {"USER_DEFINED": "a value with spaces", "EMPTY": ""}


class Startup(guests.GuestTest):
    def same_but_for_the_vdso(self, argv, **how):
        native = self.run_program(argv, env=ENVIRONMENT, **how)
        for engine in "fast", "step":
            with self.subTest(engine=engine):
                result = self.rdb_run(guests.ENGINES[engine], argv, env=ENVIRONMENT, **how)
                self.assertEqual(native.err, "vdso\n")
                self.assertEqual(result.err, "")
                self.assertEqual(result.out, native.out)
                self.assertEqual(result.status, 0)

    def test_dynamic(self):
        self.same_but_for_the_vdso([harness.target("engine/startup"), "one", "", "three words here"])

    def test_static(self):
        self.same_but_for_the_vdso([harness.target("engine/startup_static"), "x"])

    def test_relative_path(self):
        os.symlink(harness.target("engine/startup"), self.path("eng_startup_link"))
        self.same_but_for_the_vdso(["./eng_startup_link", "--help", "--", "-x"])

    def test_found_in_the_path(self):
        result = self.rdb_run([], ["echo", "found"], env={"PATH": "/usr/bin:/bin"}, status=0)
        self.assertEqual(result.out, "found\n")

    def test_an_empty_environment(self):
        argv = ["/usr/bin/env", "-i", harness.rdb(), "run", "--", "/usr/bin/env"]
        self.assertEqual(self.run_program(argv, status=0).out, "")

    def test_many_arguments(self):
        argv = ["/usr/bin/printf", "%s.", *(f"argument-{i}" for i in range(20000))]
        self.compare(argv, "fast")

    def test_scripts(self):
        for first in "#!/bin/sh", "#! /bin/sh -e":
            with self.subTest(first=first):
                script = self.write("script", first + '\necho "$0" "$#" "$@"\nexit 7\n')
                os.chmod(script, 0o755)
                self.compare([script, "a", "b c"], "fast")
                self.compare(["./script"], "fast")

    def test_a_script_of_a_script(self):
        inner = self.write("inner", '#!/bin/sh\necho inner "$@"\n')
        outer = self.write("outer", f"#!{inner} option with spaces\n")
        for path in inner, outer:
            os.chmod(path, 0o755)
        self.compare([outer, "x"], "fast")

    def test_the_layout_comes_from_the_seed(self):
        argv = [harness.target("engine/startup")]
        random = lambda *options: self.rdb_run(options, argv, env={"SHOW_RANDOM": "1"}, status=0).err
        self.assertEqual(random("--no-aslr"), random("--no-aslr"))
        self.assertEqual(random("--seed", "5"), random("--seed", "5"))
        self.assertNotEqual(random("--seed", "5"), random("--seed", "6"))
        self.assertNotEqual(random(), random())


if __name__ == "__main__":
    harness.main()
