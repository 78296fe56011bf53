#!/usr/bin/env python3
"""Tests of places in memory, on storages small enough to write down, and of the cases as a whole.
"""

import itertools
import sys
import unittest

sys.dont_write_bytecode = True

from case import Case, Pool, Rows, Shape  # noqa: E402
from drawn_case import draw, expected  # noqa: E402
from json_text import json_text  # noqa: E402
from make_golden import CASES  # noqa: E402
from placed_case import place  # noqa: E402
from pool_layout import Axis, lay_out  # noqa: E402


def strides(view: dict) -> list[int]:
    names = ("first_element", "block_stride", "head_stride", "slot_stride", "pack_width",
             "pack_stride")
    return [view[name] for name in names if name in view]


def placed(shape: Shape, pool: Pool, rows: Rows = Rows()) -> dict:
    case = Case("a case", "a test", ((2, 3),), shape, pool=pool, rows=rows)
    return place(case, draw(case))


class LayOutTest(unittest.TestCase):
    def test_the_last_axis_runs_fastest_and_padding_follows_each_step(self):
        axes = [Axis("block", 2, padding=1), Axis("slot", 2), Axis("dim", 3)]
        storage = lay_out(axes, lambda at: 100 * at["block"] + 10 * at["slot"] + at["dim"],
                          itertools.repeat(-1))
        self.assertEqual(storage.codes, [0, 1, 2, 10, 11, 12, -1, 100, 101, 102, 110, 111, 112, -1])
        self.assertEqual(storage.strides, {"block": 7, "slot": 3, "dim": 1})

    def test_tensors_that_share_a_storage_begin_where_their_first_element_is(self):
        axes = [Axis("block", 2), Axis("tensor", 2), Axis("layer", 3), Axis("dim", 2)]
        storage = lay_out(axes, lambda at: 0, itertools.repeat(-1))
        self.assertEqual(storage.first[0, 1], 2)
        self.assertEqual(storage.first[1, 1], 8)


class PlaceTest(unittest.TestCase):
    def test_strides_of_the_documented_shapes(self):
        shape = Shape(2, 2, 16, 8, "fp16", "fp16")
        for layout, of_k, of_v in (
            ("token-major", [0, 128, 16, 32], [0, 64, 8, 16]),
            ("head-major", [0, 128, 64, 16], [0, 64, 32, 8]),
            ("packed", [0, 128, 64, 8, 8, 32], [0, 64, 32, 1, 1, 4]),
        ):
            views = placed(shape, Pool(layout, block_size=4))
            self.assertEqual(strides(views["k"]), of_k)
            self.assertEqual(strides(views["v"]), of_v)

    def test_a_slice_of_a_buffer_of_layers(self):
        pool = Pool(block_size=4, shared_nesting="block tensor layer slot head dim", num_layers=3)
        views = placed(Shape(1, 1, 8, 8), pool)
        self.assertEqual(strides(views["k"]), [32, 192, 8, 8])
        self.assertEqual(strides(views["v"]), [128, 192, 8, 8])
        self.assertEqual(len(views["buffers"]), 1)

    def test_queries_with_heads_first(self):
        q = placed(Shape(4, 2, 8, 8), Pool(), Rows("head row dim"))["q"]
        self.assertEqual((q["row_stride"], q["head_stride"]), (8, 16))

    def test_blocks_that_sequences_share_must_agree(self):
        pool = Pool(block_ids=((0,), (0,)))
        alike = Case("a case", "a test", ((1, 3), (1, 3)), pool=pool, shared_tokens=3)
        place(alike, draw(alike))
        unlike = Case("a case", "a test", ((1, 3), (1, 3)), pool=pool, shared_tokens=2)
        with self.assertRaises(AssertionError):
            place(unlike, draw(unlike))


class CasesTest(unittest.TestCase):
    def test_names_are_given_once(self):
        names = [case.name for case in CASES]
        self.assertEqual(len(names), len(set(names)))

    def test_thirty_digits_do_not_depend_on_the_digits_carried(self):
        for case in CASES[::4]:
            drawn = draw(case)
            self.assertEqual(expected(case, drawn), expected(case, drawn, digits=80), case.name)


class JsonTextTest(unittest.TestCase):
    def test_breaks_long_lists_and_nested_ones(self):
        self.assertEqual(json_text({"a": [1, 2], "b": [[1], []], "c": None}),
                         '{\n  "a": [1, 2],\n  "b": [\n    [1],\n    []\n  ],\n  "c": null\n}\n')
        lines = json_text(["word"] * 40).splitlines()
        self.assertEqual(len(lines), 6)
        self.assertLessEqual(max(len(line) for line in lines), 100)


if __name__ == "__main__":
    unittest.main()
