#!/usr/bin/env python3
"""Checks the canary programs' messages for invalid arguments: usage_test.py PROGRAM SCRIPT."""

import subprocess
import sys
import unittest

PROGRAM, SCRIPT = sys.argv[1:]


class UsageTest(unittest.TestCase):
    def check_usage(self, command):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        with self.subTest(command=command):
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, "^usage: canar[a-z_.]+ ")
            self.assertEqual(result.stdout, "")

    def test_the_program(self):
        for arguments in [["--help"], ["exit_early"], ["exit_early", "wrong", "right"]]:
            self.check_usage([PROGRAM, *arguments])

    def test_the_table(self):
        for arguments in [[], ["--help"], [SCRIPT, SCRIPT], [SCRIPT, SCRIPT, PROGRAM]]:
            self.check_usage([sys.executable, SCRIPT, *arguments])
        self.check_usage([sys.executable, SCRIPT, "no_such_file", SCRIPT, "plain=" + PROGRAM])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
