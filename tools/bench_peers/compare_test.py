#!/usr/bin/env python3
"""Tests of the comparison: with a brief run of the real benchmark, and with programs that behave
wrongly. The first argument is the benchmark.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import compare  # noqa: E402
from operations import OPERATIONS, Skipped  # noqa: E402

BENCHMARK = ""
SMALL = ["--largest", "4096"]


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_main(self, *arguments):
        """Exit code, stdout, stderr."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = compare.main([*arguments, *SMALL, "--times", "1"])
        return code, out.getvalue(), errors.getvalue()

    def program(self, body):
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)
        return str(path)

    def test_each_operation_has_figures_of_all_three(self):
        code, out, errors = self.run_main(BENCHMARK, "--benchmark_min_time=0.001")
        self.assertEqual((code, errors), (0, ""))
        small = [operation for operation in OPERATIONS if operation.size <= 4096]
        self.assertGreater(len(small), 6)
        for operation in small:
            lines = [line for line in out.splitlines() if f": {operation.name} " in line]
            figures = len(re.findall(r" [\d,.]+", lines[-1]))
            is_skipped = lines[0].startswith("SKIPPED")
            self.assertEqual(figures, 5 if is_skipped else 7, lines)

    def test_what_lacks_a_package_is_skipped_and_says_so(self):
        def measure(_):
            raise Skipped("no such package")

        operation = compare.Operation("admit/blocks:1", 1, "token", measure)
        row, skipped = compare.row_of(operation, compare.Figures(2.0, 3.0, 1.0), 1)
        self.assertEqual(skipped, "SKIPPED: admit/blocks:1 in Python: no such package")
        self.assertEqual(row[1:], ("2.00", "3.00", "1.5 x", "-", "", "1.00", "2.0 x"))

    def test_what_is_no_floor_is_marked(self):
        operation = compare.Operation("free/blocks:1", 1, "block", lambda _: 8.0)
        row, _ = compare.row_of(operation, compare.Figures(2.0, 3.0, 4.0, is_floor=False), 1)
        self.assertEqual(row[1:], ("2.00", "3.00", "1.5 x", "8.00", "4.0 x", "4.00 r", "0.5 x"))

    def test_a_benchmark_that_fails_is_no_comparison(self):
        code, out, errors = self.run_main(self.program("echo it broke; exit 3\n"))
        self.assertEqual((code, out), (1, ""))
        self.assertIn("failed:\nit broke", errors)
        program = self.program("exit 0\n")
        code, _, errors = self.run_main(program)
        self.assertEqual((code, errors),
                         (1, f"compare: {program} wrote no figures; expected a benchmark\n"))
        missing = str(self.folder / "nothing")
        code, _, errors = self.run_main(missing)
        self.assertEqual((code, errors),
                         (1, f"compare: {missing}: {os.strerror(2)}\n"))

    def test_an_operation_that_the_benchmark_lacks_is_named(self):
        writes_nothing = ('for flag; do case $flag in --benchmark_out=*) '
                          'echo \'{"benchmarks": []}\' >"${flag#*=}";; esac; done\n')
        code, _, errors = self.run_main(self.program(writes_nothing))
        self.assertEqual(code, 1)
        self.assertIn("has no allocate_and_free/blocks:1000", errors)

    def test_bad_usage_is_told(self):
        for arguments in (["--tims", "1"], ["--times", "0"]):
            with self.assertRaises(SystemExit) as stopped, \
                    contextlib.redirect_stderr(io.StringIO()):
                compare.main(["program", *arguments])
            self.assertEqual(stopped.exception.code, 2)


if __name__ == "__main__":
    BENCHMARK = os.path.abspath(sys.argv.pop(1))
    unittest.main()
