#!/usr/bin/env python3
"""Tests of the model of a launch on invented plans, and of tables, goldens and floors."""

import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append("tools/static_speed")

from cards import CARDS  # noqa: E402
from figures import COLUMNS  # noqa: E402
from launch_model import BANDWIDTH_SHARE, LAUNCH_US, START_US, predict_launch  # noqa: E402
from plans import PlannedLaunch, read_plans  # noqa: E402
from speed_table import changes, read_table, write_table  # noqa: E402
from speed_test import check, floor_failures  # noqa: E402

CARD = CARDS["H200"]
LAUNCH = PlannedLaunch("H200", 4800.0, "GQA decode", "bf16", 1, 4096, 4096, "equal", 1, (), 512,
                       32, 128)
FAST = (100.0, 200.0, 300.0)  # bytes a clock, above any bandwidth together


class Launch(unittest.TestCase):
    def us(self, runs, rates=FAST, splits=1):
        return predict_launch(replace(LAUNCH, runs=runs, splits=splits), rates, CARD)

    def test_a_full_wave_reads_at_the_cards_bandwidth(self):
        found = self.us(((396, 4096),))
        reading = 396 * 4096 * 512 / (BANDWIDTH_SHARE * 4800e3)
        self.assertAlmostEqual(found.us, LAUNCH_US + START_US + reading, delta=0.01 * reading)
        self.assertEqual((found.waves, found.tail_us), (1, found.us - LAUNCH_US))

    def test_one_thread_block_more_is_a_tail(self):
        slow = (5.0, 10.0, 15.0)
        one, more = self.us(((396, 4096),), slow), self.us(((397, 4096),), slow)
        alone = START_US + 4096 * 512 / (5.0 * CARD.clock_ghz * 1e3)
        self.assertAlmostEqual(more.us - one.us, alone, delta=0.01 * alone)
        self.assertAlmostEqual(more.tail_us, alone, delta=0.01 * alone)

    def test_few_thread_blocks_are_as_slow_as_each_is_alone(self):
        found = self.us(((8, 4096),), (5.0, 10.0, 15.0))
        alone = 4096 * 512 / (5.0 * CARD.clock_ghz * 1e3)
        self.assertAlmostEqual(found.us, LAUNCH_US + START_US + alone, delta=0.01 * alone)

    def test_thread_blocks_spread_over_the_multiprocessors(self):
        crowded = (5.0, 6.0, 7.0)
        found = self.us(((132, 4096),), crowded)
        alone = 4096 * 512 / (5.0 * CARD.clock_ghz * 1e3)
        self.assertAlmostEqual(found.us, LAUNCH_US + START_US + alone, delta=0.01 * alone)

    def test_work_of_unequal_parts_takes_as_long_as_the_longest(self):
        slow = (5.0, 10.0, 15.0)
        self.assertAlmostEqual(self.us(((1, 32768), (131, 128)), slow).us,
                               self.us(((1, 32768),), slow).us, delta=0.1)

    def test_a_merge_costs_time(self):
        self.assertGreater(self.us(((8, 512),), splits=2).us, self.us(((8, 512),)).us + 1)


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "table.txt"

    def test_a_table_is_read_as_it_was_written(self):
        row = {column: float(index + 1) for index, column in enumerate(COLUMNS[:-1])}
        self.path.write_text(write_table("# speed", {"GQA decode, bf16, 128": row}))
        self.assertEqual(read_table(self.path), ("# speed", {"GQA decode, bf16, 128": row}))

    def test_three_percent_pass_and_a_step_more_does_not(self):
        before = {"k": {"instructions": 1000.0}}
        self.assertEqual(list(changes(before, {"k": {"instructions": 1030.0}})), [])
        [line] = changes(before, {"k": {"instructions": 1031.0}})
        self.assertIn("1000 before, 1031 now", line)
        self.assertEqual(len(list(changes(before, {"l": {"instructions": 1000.0}}))), 2)
        with_one_more = {"k": {"instructions": 1000.0, "at 1": 1.0}}
        self.assertEqual(len(list(changes(before, with_one_more))), 1)

    def test_decode_below_the_floor_fails_and_so_does_an_exception_that_is_none(self):
        least = 1.3 * CARD.need(4800)
        for label, fails_below in (("GQA decode in whole tiles, bf16/bf16, 128", True),
                                   ("GQA decode in whole tiles, bf16/fp8, 128", False)):
            for rate, is_below in ((least - 0.1, True), (least + 0.1, False)):
                row = {"registers": 255, "at 1": 1.0, "at 2": rate}
                with self.subTest(label, rate=rate):
                    found = list(floor_failures({label: row}, "sm_90", 4800))
                    self.assertEqual(len(found), int(is_below == fails_below))
        self.assertEqual(list(floor_failures({"TMA decode": {"at 1": 1.0}}, "sm_90", 4800)), [])

    def test_figures_of_another_compiler_are_not_compared(self):
        row = {column: 100.0 for column in COLUMNS}
        self.path.write_text(write_table("# speed, nvcc 13.0.88, sm_90", {"k": row}))
        slower = {"k": row | {"instructions": 104.0}}
        for compiler, failures in (("13.0.88", 1), ("14.0.1", 0)):
            with redirect_stdout(StringIO()) as said:
                found = check({(compiler, "sm_90"): slower}, [self.path], [LAUNCH])
            self.assertEqual((len(found), "SKIPPED" in said.getvalue()), (failures, not failures))

    def test_plans_are_read_in_the_order_of_the_launch(self):
        self.path.write_text(
            "# decode in bf16, 2 heads of K and V, group 4, head dim 128, block size 16\nheadings\n"
            " H200  132  4800  GQA decode  bf16  2  4096  4096  skewed  3  3  "
            "2:1*2048,1*1024 1:2*0\n")
        [launch] = read_plans(self.path)
        self.assertEqual(launch.runs, ((1, 2048), (1, 1024)) * 4 + ((4, 0),))
        self.assertEqual((launch.thread_blocks, launch.kv_bytes), (8, 4 * 3072 * 512))
        self.assertEqual((launch.name, launch.splits), ("2 x 4096 skewed", 3))

    def test_a_bad_line_is_named(self):
        head = "# decode in bf16, 2 heads of K and V, group 4, head dim 128, block size 16\n"
        row = " H200  132  4800  GQA decode  bf16  2  4096  4096  equal  3  1  1:2*4096\n"
        self.path.write_text(head + "headings\n" + row)
        self.assertEqual(len(read_plans(self.path)), 1)
        for text in ("", "no head\n"):
            self.path.write_text(text)
            with self.assertRaisesRegex(SystemExit, ":1: expected"):
                read_plans(self.path)
        for before, now in (("  1:2*4096", ""), ("H200", "H300"), ("132", "131"), ("bf16", "bf8"),
                            ("equal", "even"), ("1:2*4096", "1:2"), ("4800", "fast")):
            self.path.write_text(head + "headings\n" + row + row.replace(before, now))
            with self.subTest(now), self.assertRaisesRegex(SystemExit, ":4: expected 12"):
                read_plans(self.path)


if __name__ == "__main__":
    unittest.main()
