#!/usr/bin/env python3
"""What the README's section "Verify your kernel" says to type does what it says.

    readme_commands_test.py RECTO README
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, README = (Path(path).resolve() for path in sys.argv[1:3])
ROOT = Path.cwd()  # of the runfiles, as of the checkout
BUILDS = "./bazelw "  # what builds the program that is tested here


def section():
    text = README.read_text("utf-8")
    return text.split("\n## Verify your kernel\n")[1].split("\n## ")[0]


def code_blocks():
    return [block.strip("\n") for block in re.findall(r"```\n(.*?)```", section(), re.DOTALL)]


def commands():
    lines = [line.split("  #")[0].strip() for line in code_blocks()[0].splitlines()]
    return [line for line in lines if line and not line.startswith(BUILDS)]


class ReadmeCommands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name in ("experiments", "verify"):
            os.symlink(ROOT / name, Path(self.folder.name, name))

    def run_line(self, line):
        line = re.sub(r"^recto ", f"{PROGRAM} ", line)
        return subprocess.run(
            ["bash", "-c", line], cwd=self.folder.name, capture_output=True, text=True
        )

    def run_all(self, lines):
        """Of each line its exit code, and what the last one printed."""
        if shutil.which("cc") is None:
            print("SKIPPED: the README's commands: no C compiler named cc")
            self.skipTest("no cc")
        done = [self.run_line(line) for line in lines]
        errors = "\n".join(f"{line}\n{run.stderr}" for line, run in zip(lines, done))
        return [run.returncode for run in done], done[-1].stdout, errors

    def test_the_kernel_that_is_wrong_is_caught_and_explained(self):
        codes, printed, errors = self.run_all(commands())
        self.assertEqual(codes, [0, 0, 1, 1], errors)
        left = iter(printed.splitlines())
        for line in code_blocks()[1].splitlines():
            self.assertIn(line, left, f"{line!r} is not printed, in this order, by:\n{printed}")

    def test_the_kernel_that_is_right_passes(self):
        lines = [line.replace("faulty_kernel.c", "paged_kernel.c") for line in commands()]
        codes, _, errors = self.run_all(lines[:3])
        self.assertEqual(codes, [0, 0, 0], errors)

    def test_there_are_as_many_commands_as_a_newcomer_has_patience_for(self):
        self.assertEqual([line.split()[0] for line in commands()], ["cp", "cc", "recto", "recto"])
        self.assertEqual(len(code_blocks()), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
