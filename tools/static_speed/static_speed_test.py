#!/usr/bin/env python3
"""Tests of the static model of a multiprocessor on invented machine code."""

import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append("tools/static_speed")

from cards import CARDS  # noqa: E402
from cubin import KernelCode, read_kernels  # noqa: E402
from figures import COLUMNS, Subject, measure  # noqa: E402
from hot_loop import find_hot_path  # noqa: E402
from machine_code import _parse  # noqa: E402
from own_kernels import subject_of  # noqa: E402
from replay import MEMORY_CYCLES, trips_per_clock  # noqa: E402

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
    return find_hot_path(kernel(f".L_x_0:\n{body.strip()}\n@P0 BRA `(.L_x_0)\nEXIT", controls))


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
        with self.assertRaisesRegex(SystemExit, "no shared memory"):
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
            elf = b"\x7fELF\x02\x01"
            for data in (b"no cubin", b"", elf, elf + bytes(100), elf + b"\xff" * 100):
                Path(file.name).write_bytes(data)
                with self.subTest(data), self.assertRaisesRegex(SystemExit, file.name):
                    read_kernels(file.name)
        with self.assertRaisesRegex(SystemExit, "no/such/file"):
            read_kernels("no/such/file")


if __name__ == "__main__":
    unittest.main()
