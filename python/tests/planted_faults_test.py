#!/usr/bin/env python3
"""The planted faults of verify/qa that a function in Python can have are found through it, and the
right function beside them passes.

    planted_faults_test.py RECTO_KERNELS INIT_PY
"""

import functools
import os
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
sys.path.insert(0, str(Path(__file__).absolute().parent))

import numpy as np  # noqa: E402

import fault_rates_benchmark as rates  # noqa: E402
import recto  # noqa: E402
from planted_faults_testing import FAULTS, attention  # noqa: E402

FULL = "RECTO_FULL" in os.environ
# What a case must have for the fault to show.
REQUIRED = {
    "window off by one": ["window"], "soft cap after the mask": ["softcap"],
    "sink left out of the denominator's log": ["sinks"], "sign of the bias": ["alibi"],
    "fp8 scale left out": ["scales"], "fp8 scale of the first head": ["scales"],
}


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def verify(self, fault, **words):
        function = functools.partial(attention, fault=fault)
        with np.errstate(all="ignore"):
            return recto.verify(decode=function, prefill=function, folder=self.folder, seed=1,
                                explain=False, fail_fast=True, **rates.SIZES, **words)

    def test_the_right_function_passes(self):
        self.verify("", cases=30 if FULL else 10).raise_for_failures()

    def test_each_fault_is_found(self):
        for fault in FAULTS if FULL else FAULTS[:: len(FAULTS) // 5]:
            with self.subTest(fault):
                report = self.verify(fault, cases=40, laws=["oracle"], require=REQUIRED.get(fault))
                self.assertGreater(report.failed, 0)

    def test_usual_tests_see_what_numbers_show_and_not_what_placement_shows(self):
        def found(fault):
            return rates.tried(rates.by_numpy, fault, 1, 1.0) is not None

        self.assertTrue(found("log in base 2"))
        self.assertFalse(found(""))
        self.assertFalse(found("slot by a mask"))  # block sizes are powers of two


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
