#!/usr/bin/env python3
"""Tests the report on results that agree, that differ, and that are missing."""

import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import compare_probes  # noqa: E402


def word(x):
    return f"{struct.unpack('I', struct.pack('f', x))[0]:08x}"


SUMS = " ".join([word(1.0)] * compare_probes.SUMS)
EXECUTOR = f"""\
copy|executor|exact|0|00000001 00000002
copy|executor|exact|1|00000003 00000004
multiply|bound|product|0|{SUMS}
multiply|bound|product|1|{word(0.5)} {word(0.5)}
multiply|nearest|product|0|{SUMS}
multiply|nearest|product|1|{word(8.0)} {word(9.0)}
multiply|truncated|product|0|{SUMS}
multiply|truncated|product|1|{word(8.0)} {word(8.75)}
fast_exp2|input|exp2|0|{word(3.0)} {word(-140.0)}
fast_exp2|executor|exp2|0|{word(8.0)} {word(0.0)}
fast_tanh|input|tanh|0|{word(1.0)}
fast_tanh|executor|tanh|0|{word(0.76159418)}
"""
GPU = f"""\
# a card
copy|gpu|exact|0|00000001 00000002
copy|gpu|exact|1|00000003 00000004
multiply|gpu|product|0|{SUMS}
multiply|gpu|product|1|{word(8.0)} {word(8.75)}
fast_exp2|gpu|exp2|0|{word(8.0 + 2.0**-19)} {word(0.0)}
fast_tanh|gpu|tanh|0|{word(0.7618)}
"""


class Comparison(unittest.TestCase):
    def failing(self, old, new):
        failures, lines = compare_probes.compare(EXECUTOR, GPU.replace(old, new))
        self.assertEqual(failures, 1)
        return "\n".join(line for line in lines if line.startswith("FAILED"))

    def test_what_agrees_is_counted(self):
        failures, lines = compare_probes.compare(EXECUTOR, GPU)
        self.assertEqual(failures, 0)
        self.assertIn("copy: 4 words agree bit for bit", lines)
        self.assertIn("fast_exp2: off by at most 2.000 ulp, documented: 2.0", lines)

    def test_a_word_that_differs_is_named(self):
        self.assertIn("word 2: executor 00000003, GPU 00000005", self.failing("00000003 00000004",
                                                                              "00000005 00000004"))

    def test_a_probe_that_is_missing_fails(self):
        self.assertIn("nothing came", self.failing("copy|gpu", "paste|gpu"))
        self.assertIn("expected 4 words, got 2", self.failing("copy|gpu|exact|1", "paste|gpu|x|1"))

    def test_an_executor_that_says_nothing_fails(self):
        failures, lines = compare_probes.compare("", GPU)
        self.assertEqual((failures, lines), (1, ["FAILED: the executor printed no probe"]))

    def test_a_probe_that_the_card_does_not_have_is_skipped(self):
        gpu = GPU.replace("copy|gpu|", "paste|gpu|") + "SKIPPED: copy: needs capability 9.0\n"
        failures, lines = compare_probes.compare(EXECUTOR, gpu)
        self.assertEqual(failures, 0)
        self.assertIn("SKIPPED: copy: needs capability 9.0", lines)

    def test_errors_beyond_the_documented_ones_fail(self):
        self.assertIn("3.000 ulp", self.failing(word(8.0 + 2.0**-19), word(8.0 + 3 * 2.0**-20)))
        self.assertIn("inf", self.failing(word(0.0), word(1.0)))
        self.assertIn("fast_tanh", self.failing(word(0.7618), word(0.7622)))

    def test_products_say_whom_the_card_follows(self):
        _, lines = compare_probes.compare(EXECUTOR, GPU)
        said = next(line for line in lines if line.startswith("multiply"))
        self.assertIn("of 130 sums, 0 match none", said)
        self.assertLess(said.index("130 are as truncated"), said.index("129 are as nearest"))

    def test_sums_that_are_like_none_are_told(self):
        gpu = GPU.replace(word(8.75), word(9.25))
        failures, lines = compare_probes.compare(EXECUTOR, gpu)
        self.assertEqual(failures, 0)
        said = "\n".join(lines)
        self.assertIn("of 130 sums, 1 match none", said)
        self.assertIn("trial 1, sum 1: GPU 9.25 (41140000), to nearest 9 (41100000)", said)

    def test_of_many_sums_like_none_a_few_are_told(self):
        gpu = GPU.replace(word(1.0), word(1.5))
        _, lines = compare_probes.compare(EXECUTOR.replace(word(0.5), word(1.0)), gpu)
        said = "\n".join(lines)
        self.assertIn("128 match none", said)
        self.assertEqual(said.count("trial 0, sum"), compare_probes.TOLD_MAX)

    def test_sums_beyond_their_bound_fail(self):
        self.assertIn(
            "trial 1, sum 1: to nearest 9 (41100000), GPU 9.75 (411c0000), which may differ by 0.5",
            self.failing(word(8.75), word(9.75)),
        )
        self.assertIn("trial 1, sum 0", self.failing(f"1|{word(8.0)}", "1|7fffffff"))
        self.assertIn("trial 1, sum 0", self.failing(f"1|{word(8.0)}", "1|7f800000"))


if __name__ == "__main__":
    unittest.main()
