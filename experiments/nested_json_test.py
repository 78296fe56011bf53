#!/usr/bin/env python3
"""Tests that every reader of external JSON refuses deeply nested brackets.

    nested_json_test.py RECTO

Printing or traversing such a value would exhaust the stack.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
LEVELS = 200_000
NESTED = ("[" * LEVELS + "]" * LEVELS, '{"a":' * LEVELS + "1" + "}" * LEVELS)

# The command, the file that it reads, and the text around the nested value.
READERS = (
    ("replay case.json", "case.json", '{"backend": @}'),
    ("replay case.json", "case.json",
     '{"recto_case": 1, "law": "", "backend": "", "bound": "worst-case", "case": {"shape": @}}'),
    ("replay case.json", "case.json", '{"unknown": @}'),
    ("check cases", "cases/cases.json", '{"recto_cases": @}'),
    ("sweep --out grid --grid grid.json", "grid.json", '{"axes": @}'),
    ("sweep --out grid --grid grid.json", "grid.json",
     '{"base": {"block_size": @}, "axes": {"block_size": [1]}}'),
    ("simulate --model-file model.json", "model.json", '{"name": @}'),
    ("plan --model-file model.json", "model.json", '{"num_layers": @}'),
    ("simulate --time-model linear:times.json", "times.json", '{"step_ns": @}'),
    ("generate --config run.json", "run.json", '{"requests": @}'),
    ("report results", "results/manifest.json", '{"command": "x", "settings": @}'),
)


class NestedJson(unittest.TestCase):
    def refused(self, command, file, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            done = subprocess.run([PROGRAM, *command.split()], cwd=folder, capture_output=True,
                                  text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr[-200:])
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr[-200:])
        return done.stderr

    def test_it_is_refused_in_one_line_that_names_the_file(self):
        for command, file, text in READERS:
            for nested in NESTED:
                with self.subTest(command=command, text=text, begins=nested[0]):
                    said = self.refused(command, file, text.replace("@", nested))
                    self.assertIn(Path(file).name, said)
                    self.assertLess(len(said), 2_000)


if __name__ == "__main__":
    unittest.main()
