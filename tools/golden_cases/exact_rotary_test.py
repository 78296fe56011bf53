#!/usr/bin/env python3
"""Tests of exact_rotary."""

import math
import sys
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction

sys.dont_write_bytecode = True

from exact_attention import working_context  # noqa: E402
from exact_rotary import angle, cos_and_sin, pairs, pi, rotate  # noqa: E402


class ExactRotaryTest(unittest.TestCase):
    def test_pi(self) -> None:
        with localcontext(working_context(40)):
            self.assertEqual(str(pi()), "3.141592653589793238462643383279502884197")

    def test_cosine_and_sine_are_those_of_the_library_and_lie_on_the_circle(self) -> None:
        with localcontext(working_context()):
            for x in (-2.5, 0.0, 1e-9, 0.5, 1.0, 3.0, 7.0, 100.0, 123456.75):
                cosine, sine = cos_and_sin(Decimal(x))
                self.assertAlmostEqual(float(cosine), math.cos(x), delta=1e-15)
                self.assertAlmostEqual(float(sine), math.sin(x), delta=1e-15)
                self.assertLess(abs(cosine**2 + sine**2 - 1), Decimal("1e-57"))

    def test_whole_turns_cost_no_digits(self) -> None:
        with localcontext(working_context()):
            cosine, sine = cos_and_sin(2 * pi() * 10**6 + Decimal("0.5"))
            near_cosine, near_sine = cos_and_sin(Decimal("0.5"))
            self.assertLess(abs(cosine - near_cosine), Decimal("1e-50"))
            self.assertLess(abs(sine - near_sine), Decimal("1e-50"))

    def test_angles_fall_from_one_position_to_its_base_th_part(self) -> None:
        with localcontext(working_context()):
            self.assertEqual(angle(7, 0, 4, 100), 7)
            self.assertLess(abs(angle(7, 1, 4, 100) - Decimal("0.7")), Decimal("1e-57"))

    def test_pairs(self) -> None:
        self.assertEqual(pairs("halves", 6), [(0, 3), (1, 4), (2, 5)])
        self.assertEqual(pairs("interleaved", 6), [(0, 1), (2, 3), (4, 5)])

    def test_dims_beyond_the_rotated_ones_stay(self) -> None:
        row = [Fraction(1), Fraction(0), Fraction(3), Fraction(5)]
        rotated = rotate(row, 1, "interleaved", 2, 10000)
        self.assertAlmostEqual(float(rotated[0]), math.cos(1))
        self.assertAlmostEqual(float(rotated[1]), math.sin(1))
        self.assertEqual(rotated[2:], [3, 5])


if __name__ == "__main__":
    unittest.main()
