#!/usr/bin/env python3
"""Tests of the style of figures: labels of axes."""

import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import style  # noqa: E402


class Style(unittest.TestCase):
    def test_a_log_axis_has_more_than_one_label(self):
        for scale, limits, expected in (
            ({"value": "symlog", "linthresh": 0.03}, (0, 0.4), ["0", "0.05", "0.1", "0.2"]),
            ({"value": "log"}, (0.9, 9), ["1", "2", "5"]),
            ({"value": "log"}, (0.02, 0.25), ["0.02", "0.05", "0.1", "0.2"]),
        ):
            axis = style.Figure().subplots()
            axis.set_xscale(**scale)
            axis.set_xlim(*limits)
            style.label_log_axis(axis)
            self.assertEqual([label.get_text() for label in axis.get_xticklabels()], expected)
        axis = style.Figure().subplots()
        axis.set(xscale="log", xlim=(0.09, 11))  # whole powers of ten suffice
        before = list(axis.get_xticks())
        style.label_log_axis(axis)
        self.assertEqual(list(axis.get_xticks()), before)


if __name__ == "__main__":
    unittest.main()
