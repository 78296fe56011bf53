#!/usr/bin/env python3
"""The right kernel has no finding in any mode; each fault has its message where it is found.

    row_sums_test.py PROGRAM...
"""

import subprocess
import sys
import unittest
from pathlib import Path

# A mode whose compiler is missing has NAME.sh instead.
PROGRAMS = {Path(program).stem: program for program in sys.argv[1:]}

SILENT = ["row_sums_plain", "row_sums_races", "row_sums_asan", "row_sums_taint"]
SEEN = {
    "row_sums_forgets_barrier_plain": ["schedule dependence", "out"],
    "row_sums_forgets_barrier_races": [
        "race in kernel 'row_sums': verify/simt/examples/row_sums/row_sums.cu:",
        "of shared parts+",
        "no __syncthreads in between (found under {",
    ],
    "row_sums_reads_padding_plain": ["wrong outputs"],
    "row_sums_reads_padding_races": [
        "uninitialised read in kernel 'row_sums': verify/simt/examples/row_sums/row_sums.cu:11:",
        "reads 4 bytes of in+400, which were never written",
    ],
    "row_sums_reads_padding_taint": ["out depends on padding"],
}


class RowSumsTest(unittest.TestCase):
    def test_each_program(self):
        for name in PROGRAMS:
            result = subprocess.run(
                [PROGRAMS[name]], capture_output=True, text=True, check=False, timeout=60
            )
            if result.stdout.startswith("SKIPPED:"):
                print(f"{result.stdout.strip()} ({name})")
                continue
            with self.subTest(program=name):
                self.assertIn(name, SILENT + list(SEEN))
                parts = SEEN.get(name)
                self.assertEqual(result.returncode, 1 if parts else 0, result.stderr)
                for part in parts or []:
                    self.assertIn(part, result.stdout)
                if not parts:
                    self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
