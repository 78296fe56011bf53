#!/usr/bin/env python3
"""Tests of the table of kernels' resources, made from logs of ptxas."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import ptxas_report  # noqa: E402

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info : Compiling entry function '_ZN5recto7kernels5mergeIfEEvNS0_11MergeParamsE' for 'sm_90'
ptxas info    : Function properties for _ZN5recto7kernels5mergeIfEEvNS0_11MergeParamsE
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 62 registers, used 1 barriers, 8 bytes cumulative stack size, 7712 bytes smem
ptxas info    : Compile time = 161.078 ms
ptxas info    : Compiling entry function '_ZN5recto7kernels4copyEv' for 'sm_90'
ptxas info    : Function properties for _ZN5recto7kernels4copyEv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
"""


class Report(unittest.TestCase):
    def test_each_kernel_has_a_line_with_its_figures(self):
        lines = ptxas_report.report("13.0.88", [LOG]).splitlines()
        self.assertEqual(lines[0], "# nvcc 13.0.88, sm_90")
        self.assertEqual([line.split() for line in lines[2:]],
                         [["32", "0", "0", "0", "0", "copy()"],
                          ["62", "8", "16", "24", "7712", "merge<float>"]])

    def test_logs_without_kernels_are_refused(self):
        with self.assertRaises(SystemExit):
            ptxas_report.report("13.0.88", ["ptxas info    : 0 bytes gmem\n"])


if __name__ == "__main__":
    unittest.main()
