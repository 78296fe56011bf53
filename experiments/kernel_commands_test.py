#!/usr/bin/env python3
"""Tests that recto lists and runs the commands of recto_kernels, and reports a missing program.

    kernel_commands_test.py RECTO RECTO_KERNELS KERNEL_COMMANDS.json
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RECTO, KERNELS, COMMANDS = (Path(word).resolve() for word in sys.argv[1:])
LISTED = json.loads(COMMANDS.read_text("utf-8"))


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


class KernelCommands(unittest.TestCase):
    def test_they_are_listed_as_they_are(self):
        told = run(KERNELS, "--commands")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(json.loads(told.stdout), LISTED,
                         "bazel-bin/experiments/recto_kernels --commands > "
                         "experiments/kernel_commands.json brings the file up to date")

    def test_recto_runs_them(self):
        for command in LISTED:
            name = command["name"]
            self.assertEqual(run(RECTO, name, "--help").stdout, run(KERNELS, name, "--help").stdout)
            wrong = run(RECTO, name, "--no-such-flag")
            self.assertEqual(wrong.returncode, 2, name)
            self.assertEqual(wrong.stderr, run(KERNELS, name, "--no-such-flag").stderr)

    def test_where_they_are_not_built_recto_says_how(self):
        alone = Path(shutil.copy(RECTO, tempfile.mkdtemp()))
        for command in LISTED:
            name = command["name"]
            missing = run(alone, name)
            self.assertEqual((missing.returncode, missing.stdout), (1, ""))
            self.assertEqual(
                missing.stderr,
                f"recto: {name} is a command of recto_kernels, which is not in {alone.parent}; "
                "./bazelw build -c opt //experiments:recto_kernels builds it\n")
            helped = run(alone, name, "--help")
            self.assertEqual((helped.returncode, helped.stderr), (0, ""))
            self.assertEqual(helped.stdout, run(KERNELS, name, "--help").stdout)

    def test_help_completion_and_manual_page_have_them(self):
        shells = [["completion", shell] for shell in ("bash", "zsh", "fish")]
        for words in (["--help"], ["man"], *shells):
            shown = run(RECTO, *words).stdout
            for command in LISTED:
                self.assertIn(command["name"], shown, words)
        for option in next(c for c in LISTED if c["name"] == "verify")["options"]:
            for flag in option["flags"]:
                self.assertIn(flag, run(RECTO, "completion", "bash").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
