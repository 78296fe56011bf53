#!/usr/bin/env python3
"""Tests the comparison with the executor's own results in place of a GPU's.

    planted_probes_test.py EXECUTOR_PROGRAM SWAPPED_PROGRAM...

In each of the executor's arithmetics nothing is wrong. With swapped registers every matrix product
is.
"""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import compare_probes  # noqa: E402


def output_of(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


EXECUTOR, *SWAPPED = [output_of(program) for program in sys.argv[1:]]


def as_gpu(text, mode):
    """The lines that a GPU would print if it summed in this arithmetic."""
    lines = []
    for line in text.splitlines():
        name, seen, kind, *rest = line.split("|")
        if seen == (mode if kind == "product" else "executor"):
            lines.append("|".join([name, "gpu", kind, *rest]))
    return "\n".join(lines)


def modes():
    modes = {line.split("|")[1] for line in EXECUTOR.splitlines() if "|product|" in line}
    return sorted(modes - {"bound"})


class PlantedProbes(unittest.TestCase):
    def test_each_arithmetic_is_within_bounds_and_found(self):
        self.assertEqual(len(modes()), 13)
        for mode in modes():
            with self.subTest(mode=mode):
                failures, lines = compare_probes.compare(EXECUTOR, as_gpu(EXECUTOR, mode))
                self.assertEqual(failures, 0, lines)
                self.assertEqual("\n".join(lines).count(f"    4096 are as {mode}"), 4)

    def test_registers_in_each_others_place_are_seen(self):
        self.assertEqual(len(SWAPPED), 2)
        for swapped in SWAPPED:
            _, lines = compare_probes.compare(EXECUTOR, as_gpu(swapped, "nearest"))
            failed = [line for line in lines if line.startswith("FAILED")]
            products = [line for line in failed if "multiply_accumulate_m16n8k" in line]
            # Two depths and two types, each with random and with small numbers.
            self.assertEqual((len(failed), len(products)), (8, 8), failed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
