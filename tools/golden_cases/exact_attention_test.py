#!/usr/bin/env python3
"""Tests of the definition, on results that closed forms give."""

import sys
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction

sys.dont_write_bytecode = True

from exact_attention import (  # noqa: E402
    HeadCache, Options, attend, tanh, visible_keys, working_context,
)

# OEIS A002392 (ln 10) and A073744 (tanh 1).
LN_10 = Decimal("2.30258509299404568401799145468436420760110148862877297603332790")
TANH_1 = Decimal("0.761594155955764888119458282604793590412768597257936551596810500")


def row(*values: float) -> list[Fraction]:
    return [Fraction(value) for value in values]


def cache(keys: list[float], values: list[float]) -> HeadCache:
    return HeadCache([row(key) for key in keys], [row(value) for value in values], 1)


class ExactAttentionTest(unittest.TestCase):
    def setUp(self):
        context = localcontext(working_context())
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def assert_near(self, found: Decimal, wanted: Decimal | int):
        self.assertLessEqual(abs(found - wanted), abs(wanted) * Decimal("1e-55"))

    def test_what_a_row_sees(self):
        for position, options, seen in (
            (2, Options(), [0, 1, 2]),
            (-1, Options(), []),
            (2, Options(causal=False), [0, 1, 2, 3, 4]),
            (-1, Options(causal=False), [0, 1, 2, 3, 4]),
            (2, Options(window=1), [2]),
            (2, Options(window=2), [1, 2]),
            (2, Options(window=3), [0, 1, 2]),
            (2, Options(causal=False, window=1), [2, 3, 4]),
        ):
            self.assertEqual(visible_keys(position, 5, options), seen, (position, options))

    def test_equal_keys_give_the_mean(self):
        result = attend(row(3), cache([2] * 10, [*range(10)]), 9, Options(), 0)
        self.assert_near(result.out[0], Decimal("4.5"))
        self.assert_near(result.lse_ln, 3 + LN_10)  # scale 0.5

    def test_a_row_without_keys(self):
        result = attend(row(1), cache([1], [7]), -1, Options(), 0)
        self.assertEqual((result.out, result.lse_ln), ([0], Decimal("-Infinity")))
        result = attend(row(1), cache([], []), 0, Options(sinks=(0.25,)), 0)
        self.assertEqual(result.out, [0])
        self.assert_near(result.lse_ln, Decimal("0.25"))

    def test_a_sink_as_large_as_the_sum_halves_the_output(self):
        result = attend(row(2), cache([1], [7]), 0, Options(scale=1.0, sinks=(9.0, 2.0)), 1)
        self.assert_near(result.out[0], Decimal("3.5"))

    def test_bias_counts_the_distance(self):
        options = Options(scale=0.0, causal=False, alibi_slopes=(2.0,))
        result = attend(row(1), cache([1, 1], [0, 1]), 1, options, 0)
        # Weights e^-2 and 1.
        self.assert_near(result.lse_ln, (1 + Decimal(-2).exp()).ln())
        self.assert_near(result.out[0], 1 / (1 + Decimal(-2).exp()))

    def test_the_cap_comes_after_the_scale_and_before_the_bias(self):
        options = Options(scale=0.5, softcap=3.0, alibi_slopes=(5.0,))
        result = attend(row(3), cache([2, 2], [0, 1]), 1, options, 0)
        self.assert_near(result.lse_ln, 3 * TANH_1 + (1 + Decimal(-5).exp()).ln())

    def test_logits_of_ten_thousand_keep_their_digits(self):
        for sign in (1, -1):
            result = attend(row(100), cache([sign * 100] * 10, [1] * 10), 9, Options(scale=1.0), 0)
            self.assert_near(result.lse_ln, sign * 10000 + LN_10)

    def test_tanh_from_tiny_to_large(self):
        tiny = Decimal("1e-90")
        self.assertEqual(tanh(tiny), tiny)
        self.assertEqual(tanh(Decimal(0)), 0)
        self.assert_near(tanh(Decimal(1)), TANH_1)
        self.assert_near(tanh(Decimal(-1)), -TANH_1)
        x = Decimal("1e-12")
        self.assert_near(tanh(x), x - x**3 / 3 + 2 * x**5 / 15 - 17 * x**7 / 315)
        self.assertEqual(tanh(Decimal(20000)), 1)


if __name__ == "__main__":
    unittest.main()
