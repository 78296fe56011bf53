#!/usr/bin/env python3
"""Tests that without a browser each test that needs one is reported as skipped, with the reason.

    skipped_browser_test.py SCRIPT...
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

SCRIPTS = [Path(argument).resolve() for argument in sys.argv[1:]]


class Skipped(unittest.TestCase):
    def test_every_test_is_named_and_none_counts_as_run(self):
        self.assertGreater(len(SCRIPTS), 2)
        for script in SCRIPTS:
            done = subprocess.run([sys.executable, script, "recto"], env={"PATH": "/nowhere"},
                                  capture_output=True, text=True, check=True)
            names = re.findall(r"    def (test_\w+)", script.read_text("utf-8"))
            self.assertGreater(len(names), 2)
            lines = done.stdout.splitlines()
            for name in names:
                told = [line for line in lines if line.startswith("SKIPPED: ") and name in line]
                self.assertEqual(len(told), 1, (script.name, name))
                self.assertIn("no Chromium here, which `./bazelw browser` installs", told[0])
            self.assertEqual(lines[-1], f"{len(names)} tests skipped, none run")
            self.assertEqual(len(lines), len(names) + 1)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
