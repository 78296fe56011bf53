#!/usr/bin/env python3
"""Tests of the static model of speed on invented machine code, launches and tables."""

import struct
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
from cubin import BadCubin, KernelCode, read_kernels  # noqa: E402
from figures import COLUMNS, Subject, measure  # noqa: E402
from hot_loop import find_hot_path  # noqa: E402
from launch_model import BANDWIDTH_SHARE, LAUNCH_US, START_US, predict_launch  # noqa: E402
from machine_code import _parse  # noqa: E402
from own_kernels import BadTable, subject_of  # noqa: E402
from plans import BadPlans, PlannedLaunch, read_plans  # noqa: E402
from replay import MEMORY_CYCLES, trips_per_clock  # noqa: E402
from speed_table import changes, read_table, write_table  # noqa: E402
from speed_test import check, floor_failures  # noqa: E402

_NONE = 7 << 46 | 7 << 49  # no scoreboard


def control(stall=1, sets=None, waits=()):
    word = stall << 41 | _NONE
    if sets is not None:
        word = word & ~(7 << 46) | sets << 46
    return word | sum(1 << 52 + board for board in waits)


def kernel(listing, controls=()):
    """A kernel of these lines: labels, or instructions; `controls` by instruction, else stall 1."""
    code, lines, count = b"", [], 0
    for line in listing.strip().splitlines():
        line = line.strip()
        if line.endswith(":"):
            lines.append(line)
        else:
            lines.append(f"        /*{16 * count:04x}*/                   {line} ;")
            word = dict(controls).get(count, control())
            code += struct.pack("<QQ", 0, word)
            count += 1
    return _parse(KernelCode("k", 1, code, 100, 128, 1024, "13.0.88", "sm_90"), lines)


# A tile is copied, masked at an edge, and rescaled where a maximum grows.
DECODE = """
MOV R1, c[0x0][0x28]
.L_x_0:
@P0 BRA `(.L_x_1)
LDGSTS.E.BYPASS.128 [R2], [R4.64]
LDGDEPBAR
BRA `(.L_x_2)
.L_x_1:
ISETP.LT.AND P1, PT, R0, R1, PT
SEL R7, R8, RZ, P1
LDGSTS.E.BYPASS.128 [R2], [R4.64], P1
LDGDEPBAR
.L_x_2:
DEPBAR.LE SB0, 0x1
HMMA.16816.F32.BF16 R12, R4, R8, R12
@!P2 BRA `(.L_x_3)
FMUL R12, R12, R3
FMUL R13, R13, R3
.L_x_3:
MUFU.EX2 R5, R6
@P3 BRA `(.L_x_0)
EXIT
"""


# The products of 512 bytes.
EXPONENTIAL = "MUFU.EX2 R5, R6"
PRODUCT = "HMMA.16816.F32.BF16 R12, R4, R8, R12"
TILE = DECODE.replace(PRODUCT, f"{PRODUCT}\n{PRODUCT}")


class HotLoop(unittest.TestCase):
    def test_the_interior_tile_is_found_without_hints(self):
        path = find_hot_path(kernel(DECODE))
        self.assertEqual([each.base for each in path.instructions],
                         "BRA LDGSTS LDGDEPBAR BRA DEPBAR HMMA BRA MUFU BRA".split())
        self.assertEqual((path.flops, path.copied_bytes, path.is_whole), (4096, 512, True))

    def test_a_trip_without_its_copy_is_not_an_interior_tile(self):
        at_end = DECODE.replace("ISETP.LT.AND P1, PT, R0, R1, PT\n", "").replace(
            "SEL R7, R8, RZ, P1\nLDGSTS.E.BYPASS.128 [R2], [R4.64], P1\n", "")
        path = find_hot_path(kernel(at_end))
        self.assertEqual(path.copied_bytes, 512)

    def test_of_two_loops_with_as_many_products_the_one_without_masks_is_hot(self):
        second = DECODE.replace("L_x_", "L_y_").replace("MOV R1, c[0x0][0x28]\n", "")
        masked = DECODE.replace("EXIT", "").replace(EXPONENTIAL, EXPONENTIAL + "\nSEL R1, R2, R3")
        path = find_hot_path(kernel(masked.strip() + "\n" + second.strip()))
        self.assertEqual(len(path.instructions), 9)
        self.assertNotIn("SEL", [each.base for each in path.instructions])

    def test_a_loop_around_the_hot_one_does_not_count(self):
        around = DECODE.replace(".L_x_0:", f".L_x_8:\n{PRODUCT}\n.L_x_0:").replace(
            "EXIT", "@P6 BRA `(.L_x_8)\nEXIT")
        self.assertEqual(find_hot_path(kernel(around)).flops, 4096)

    def test_a_loop_of_work_within_the_path_is_seen(self):
        rolled = DECODE.replace(EXPONENTIAL, ".L_x_9:\nF2FP.F16.E4M3 R5, R6\n@P5 BRA `(.L_x_9)")
        self.assertFalse(find_hot_path(kernel(rolled)).is_whole)
        waiting = DECODE.replace(EXPONENTIAL,
                                 ".L_x_9:\nSYNCS.PHASECHK.TRANS64.TRYWAIT P5, [R5], R6\n"
                                 "@P5 BRA `(.L_x_9)")
        self.assertTrue(find_hot_path(kernel(waiting)).is_whole)

    def test_a_kernel_without_products_has_none(self):
        self.assertIsNone(find_hot_path(kernel("MOV R1, R2\nEXIT")))


def loop(body, controls=()):
    shifted = [(index, word) for index, word in controls]
    return find_hot_path(kernel(f".L_x_0:\n{body.strip()}\n@P0 BRA `(.L_x_0)\nEXIT", shifted))


FETCH = """
LDGSTS.E.BYPASS.128 [R2], [R4.64]
LDGDEPBAR
DEPBAR.LE SB0, {}
FFMA R1, R2, R3, R4
"""


class Replay(unittest.TestCase):
    def test_products_take_the_time_of_the_tensor_cores(self):
        path = loop("HMMA.16816.F32.BF16 R12, R4, R8, R12\n" * 50)
        for warps in (4, 8, 16):
            with self.subTest(warps):
                per_clock = trips_per_clock(path, 1, warps, 8.0) * 50
                self.assertAlmostEqual(per_clock, 4 / 8, delta=0.02)

    def test_one_scheduler_issues_one_instruction_a_cycle(self):
        mixed = "FFMA R1, R2, R3, R4\nIADD3 R5, R6, R7, R8\nIMAD R9, R6, R7, R8\nUMOV UR4, UR5\n"
        self.assertAlmostEqual(trips_per_clock(loop(mixed * 25), 4, 4, 8.0) * 101, 4, delta=0.2)

    def test_a_warp_alone_waits_for_its_stalls(self):
        path = loop("FFMA R1, R2, R3, R4\n" * 99, [(i, control(5)) for i in range(99)])
        self.assertAlmostEqual(1 / trips_per_clock(path, 1, 1, 8.0), 99 * 5 + 9, delta=3)

    def test_loads_of_matrices_take_passes_over_shared_memory(self):
        body = "FFMA R1, R2, R3, R4\n" + "LDSM.16.M88.4 R4, [R2]\n" * 50
        controls = [(0, control(waits=(0,))), *((i, control(sets=0)) for i in range(1, 51))]
        per_clock = trips_per_clock(loop(body, controls), 3, 4, 8.0) * 50
        self.assertAlmostEqual(per_clock, 1 / 4, delta=0.01)

    def test_a_warp_waits_for_its_stalls_and_its_scoreboards(self):
        body = "MUFU.EX2 R1, R2\nFFMA R3, R1, R1, R3\n"
        controls = [(0, control(1, sets=0)), (1, control(5, waits=(0,)))]
        alone = 1 / trips_per_clock(loop(body, controls), 1, 1, 8.0)
        self.assertGreater(alone, 24 + 5)
        self.assertLess(alone, 24 + 5 + 20)

    def test_more_thread_blocks_hide_the_latency_of_memory(self):
        path = loop(FETCH.format("0x0"))
        one, three = (trips_per_clock(path, blocks, 4, 8.0) for blocks in (1, 3))
        self.assertLess(1 / one, MEMORY_CYCLES / 4 * 1.2)
        self.assertGreater(1 / one, MEMORY_CYCLES / 4)
        self.assertAlmostEqual(three / one, 3, delta=0.1)

    def test_a_group_in_flight_lets_the_next_one_begin(self):
        waits, runs_on = (trips_per_clock(loop(FETCH.format(pending)), 1, 4, 8.0)
                          for pending in ("0x0", "0x1"))
        self.assertAlmostEqual(runs_on / waits, 2, delta=0.2)

    def test_a_barrier_holds_the_whole_thread_block(self):
        slow = "FFMA R1, R2, R3, R4\n"
        free, held = (1 / trips_per_clock(loop(slow * 8 + sync), 1, 4, 8.0)
                      for sync in ("", "BAR.SYNC.DEFER_BLOCKING 0x0"))
        self.assertGreater(held, free + 20 / 4)


class Figures(unittest.TestCase):
    def test_a_kernel_has_every_column(self):
        card = CARDS["H200"]
        row = measure(kernel(TILE), Subject("k", True, 2, 70 << 10), card)
        self.assertEqual([row[each] for each in ("blocks", "work", "copies", "branches")],
                         [3, 512, 1, 4])
        self.assertEqual(row["in flight"], 3 * 4 * 512)
        self.assertEqual([column for column in COLUMNS if column not in row], ["at 4"])
        self.assertGreater(row["at 3"], row["at 1"])

    def test_a_trip_that_copies_what_its_products_do_not_take_is_no_tile(self):
        self.assertIsNone(measure(kernel(DECODE), Subject("k", True, 2, 0), CARDS["H200"]))
        self.assertIsNone(measure(kernel(TILE), Subject("k", True, 1, 0), CARDS["H200"]))
        peer = Subject("k", True, 2, 0, is_own=False)
        self.assertEqual(measure(kernel(DECODE), peer, CARDS["H200"])["work"], 512)

    def test_names_tell_types_and_paths(self):
        gqa = ("recto::kernels::gqa_decode<recto::kernels::GroupShape<recto::kernels::Numbers<"
               "recto::kernels::TensorCoreProducts<__nv_bfloat16>, {}, "
               "(recto::kernels::Transfer){}>, 128> >(recto::kernels::SplitDecodeParams)")
        shared = {("gqa_decode", "bf16", "bf16", 128): 75008,
                  ("gqa_decode", "bf16", "fp8", 128): 59648,
                  ("tma_decode", "bf16", "bf16", 128): 88320}
        fast = subject_of(gqa.format("__nv_bfloat16", 2), shared)
        self.assertEqual(fast, Subject("GQA decode in whole tiles, bf16/bf16, 128", True, 2, 75008))
        self.assertEqual(subject_of(gqa.format("unsigned char", 2), shared),
                         Subject("GQA decode in whole tiles, bf16/fp8, 128", True, 1, 59648))
        self.assertEqual(subject_of(gqa.format("__nv_bfloat16", 1), shared).dynamic_shared, 88320)
        with self.assertRaisesRegex(BadTable, "no shared memory"):
            subject_of(gqa.format("__half", 2), shared)

    def test_registers_shared_memory_and_threads_limit_thread_blocks(self):
        card = CARDS["H200"]
        self.assertEqual(card.blocks_per_sm(168, 128, 1024), 3)
        self.assertEqual(card.blocks_per_sm(169, 128, 1024), 2)
        self.assertEqual(card.blocks_per_sm(32, 128, 76 << 10), 3)
        self.assertEqual(card.blocks_per_sm(32, 128, (76 << 10) + 1), 2)
        self.assertEqual(card.blocks_per_sm(16, 1024, 1024), 2)

    def test_a_file_that_is_no_cubin_is_named(self):
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(b"no cubin")
            with self.assertRaisesRegex(BadCubin, file.name):
                read_kernels(file.name)


CARD = CARDS["H200"]
LAUNCH = PlannedLaunch("H200", 4800.0, "GQA decode", "bf16", 1, 4096, 4096, "equal", 3, 1, (), 512,
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
        self.path.write_text("no head\n")
        with self.assertRaisesRegex(BadPlans, ":1: expected"):
            read_plans(self.path)


if __name__ == "__main__":
    unittest.main()
