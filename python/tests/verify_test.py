#!/usr/bin/env python3
"""Tests of recto.verify and recto.replay on functions in NumPy.

    verify_test.py RECTO_KERNELS INIT_PY
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
sys.path.insert(0, str(Path(__file__).absolute().parent))

import numpy as np  # noqa: E402

import kernels_testing as kernels  # noqa: E402
import recto  # noqa: E402
from recto import _engine, _types  # noqa: E402

FULL = "RECTO_FULL" in os.environ
# Small cases, of which a function in NumPy computes many.
SMALL = dict(context_max=200, sequences_max=6, rows_max=24, q_heads_max=16, seed=1)


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with spaces ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def verify(self, **words):
        return recto.verify(folder=self.folder / "failing", **{**SMALL, **words})


class RightFunctions(Verify):
    def test_they_pass_every_law_in_every_type_and_layout(self):
        report = self.verify(
            decode=kernels.attention, prefill=kernels.attention, kv_write=kernels.kv_write,
            cases=60 if FULL else 20,
        )
        report.raise_for_failures()
        self.assertEqual(report.failures, [])
        self.assertGreater(report.checks, 100)
        self.assertIn("nothing failed", str(report))
        self.assertEqual(report.seed, 1)

    def test_lse_ln_is_optional(self):
        report = self.verify(decode=kernels.without_lse_ln, cases=12)
        report.raise_for_failures()
        self.assertGreater(report.checks, 40)
        self.assertTrue(any("the share of a sink" in reason for reason in report.skips))

    def test_results_may_be_written_in_place_or_be_of_qs_type(self):
        def in_place(call):
            out, lse_ln = kernels.attention(call)
            if call.q_type != "bf16":
                call.out[...] = out
            else:
                return out, lse_ln
            call.lse_ln[...] = lse_ln
            return call.out, call.lse_ln

        self.verify(decode=in_place, cases=6, types=["fp32", "fp16", "bf16"]).raise_for_failures()

    def test_a_call_describes_itself(self):
        seen = []

        def looking(call):
            seen.append((call.layout, call.block_size, call.live.sum(), call.q.shape,
                         call.k_cache.shape, call.k_cache.flags.writeable))
            self.assertEqual(call.block_table.shape[0], len(call.context_length))
            self.assertEqual(call.out.shape,
                             (call.num_query_rows, call.num_q_heads, call.head_dim_v))
            shared = call._arguments._memory
            for array in (call.q, call.k_cache, call.v_cache, call.block_table, call.out):
                at = array.__array_interface__["data"][0] - shared.address
                self.assertTrue(0 <= at < shared.num_bytes)
            return kernels.attention(call)

        self.verify(decode=looking, cases=3, layouts=["head-major"], block_sizes=[16],
                    head_dims=[8], laws=["oracle"]).raise_for_failures()
        for layout, block_size, _, q, k, writeable in seen:
            self.assertEqual((layout, block_size, q[2], k[2:], writeable),
                             ("head-major", 16, 8, (16, 8), False))

    def test_bf16_and_fp8_arrive_as_ml_dtypes_or_as_codes(self):
        modes = [("uint16", "uint8", mock.patch.dict(sys.modules, {"ml_dtypes": None}))]
        if importlib.util.find_spec("ml_dtypes"):
            modes.append(("bfloat16", "float8_e4m3fn", contextlib.nullcontext()))
        else:
            print("SKIPPED: types of ml_dtypes, which is not installed")
        self.addCleanup(_types.numpy_type.cache_clear)
        for q_type, kv_type, mode in modes:
            seen = set()

            def looking(call):
                seen.add((call.q.dtype.name, call.k_cache.dtype.name))
                out, lse_ln = kernels.attention(call)
                return _types.rounded_codes(out, "bf16").view(call.q.dtype), lse_ln

            _types.numpy_type.cache_clear()
            with self.subTest(q_type), mode:
                self.verify(decode=looking, cases=3, types=["bf16/e4m3"],
                            laws=["oracle"]).raise_for_failures()
            self.assertEqual(seen, {(q_type, kv_type)})

    def test_expected_results_and_bounds_can_be_asked_for_in_a_call(self):
        def compared(call):
            out, lse_ln = kernels.attention(call)
            self.assertEqual(call.expected.shape, out.shape)
            self.assertTrue(np.all(np.abs(out - call.expected) <= call.bound))
            return out, lse_ln

        self.verify(decode=compared, cases=2, laws=["oracle"]).raise_for_failures()

    def test_arrays_for_other_packages_share_the_calls_memory(self):
        def exported(call):
            made = call.dlpack()
            q = np.from_dlpack(made.q)
            codes = call._arguments.codes("q")
            self.assertEqual((q.shape, q.strides), (codes.shape, codes.strides))
            self.assertTrue(np.shares_memory(q, codes) or not q.size)
            self.assertEqual((made.scale, made.window), (call.scale, call.window))
            self.assertIsNone(made.sinks)
            return kernels.attention(call)

        self.verify(decode=exported, cases=3, types=["fp32", "fp16"], without=["sinks"],
                    laws=["oracle"]).raise_for_failures()

    def test_an_array_for_another_package_that_is_kept_is_told(self):
        kept = []

        def keeps(call):
            kept.append(np.from_dlpack(call.dlpack().k_cache))
            return kernels.attention(call)

        report = self.verify(decode=keeps, cases=1, types=["fp32"], explain=False)
        self.assertIn("kept an argument: k_cache", report.failures[0].text)

    def test_the_benchmark_of_a_calls_cost_runs(self):
        script = Path(__file__).absolute().with_name("call_cost_benchmark.py")
        done = subprocess.run([sys.executable, script, "--cases=2"], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^[1-9]\d* calls; .* \d+ us here, \d+ us in", done.stderr)

    def test_equal_seeds_give_equal_reports(self):
        words = dict(decode=kernels.attention, cases=5, laws=["oracle", "chunking"])
        self.assertEqual(self.verify(**words).to_json(), self.verify(**words).to_json())


class Faults(Verify):
    def test_a_window_one_key_too_wide_is_found_shrunk_and_told(self):
        report = self.verify(decode=kernels.too_wide, cases=40, types=["fp16"])
        self.assertFalse(report.passed)
        self.assertIn("failed", report.message)
        with self.assertRaises(recto.CaseFailed) as raised:
            report.raise_for_failures()
        text = str(raised.exception)
        self.assertIn("the window is one key too wide", text)
        self.assertRegex(text, r"first out\[sequence 0, row 0")
        self.assertIn("recto.replay(", text)
        smallest = report.minimize()
        self.assertLessEqual(smallest.size, 6, smallest)
        [first, *_] = json.loads(report.to_json())["failures"]
        self.assertEqual(first["explanation"], smallest.explanation)
        self.assertEqual(first["text"], smallest.text)
        counts = report.by_option()
        self.assertGreater(counts["window"].failed / counts["window"].checks,
                           report.failed / report.checks)

    def test_a_run_may_end_at_the_first_failure(self):
        report = self.verify(decode=kernels.too_wide, cases=40, fail_fast=True, explain=False)
        self.assertGreater(report.failed, 0)
        self.assertLess(report.cases, 40)

    def test_a_saved_case_is_replayed(self):
        report = self.verify(decode=kernels.too_wide, cases=40, laws=["oracle"], explain=False)
        file = report.failures[0].file
        again = recto.replay(file, decode=kernels.too_wide)
        self.assertFalse(again.passed)
        self.assertIn("the window is one key too wide", again.text)
        with self.assertRaises(AssertionError):
            again.raise_for_failures()
        healed = recto.replay(file, decode=kernels.attention)
        healed.raise_for_failures()

    def test_a_file_with_a_case_of_another_run_is_overwritten_and_told(self):
        def misses_sinks(call):
            return kernels.attention(call, sinks=False)

        words = dict(cases=20, laws=["oracle"], fail_fast=True, explain=False)
        first = self.verify(decode=kernels.too_wide, require=["window"], **words)
        second = self.verify(decode=misses_sinks, require=["sinks"], **words)
        self.assertEqual(first.failures[0].file, second.failures[0].file)
        self.assertNotEqual(first.failures[0].case, second.failures[0].case)
        self.assertNotIn("overwritten", str(first))
        self.assertIn(f"earlier run in it\n  {second.failures[0].file}\n", str(second))

    def test_faults_are_found(self):
        def misses_sinks(call):
            return kernels.attention(call, sinks=False)

        def sees_the_future(call):
            return kernels.attention(call, mask_off=1)

        def forgets_the_cap(call):
            return kernels.attention(call, softcap=False)

        def reads_a_neighbour(call):
            out, lse_ln = kernels.attention(call)
            with np.errstate(all="ignore"):
                return out + 0 * call.float32("v_cache")[~call.live].sum(), lse_ln

        for function, words in (
            (misses_sinks, dict(require=["sinks"])), (forgets_the_cap, dict(require=["softcap"])),
            (sees_the_future, dict(rows_max=8)), (reads_a_neighbour, dict(layouts=["token-major"])),
        ):
            with self.subTest(function.__name__):
                report = self.verify(prefill=function, cases=15, explain=False, **words)
                self.assertGreater(report.failed, 0)

    def test_a_wrong_write_is_found(self):
        def off_by_one(call):
            kernels.kv_write(call)
            if call.num_tokens and call.slot_mapping[0] >= 0 and call.layout == "token-major":
                block, at = divmod(int(call.slot_mapping[0]), call.block_size)
                call.v_cache[block, at, 0, 0] = 0

        report = self.verify(kv_write=off_by_one, cases=10, types=["fp32"],
                             layouts=["token-major"], explain=False)
        self.assertGreater(report.failed, 0)
        self.assertEqual(report.failures[0].function, "kv_write")

    def test_an_engine_that_ends_is_told(self):
        engines = []
        run = _engine.Engine.run

        def noted(engine, make_answerer):
            engines.append(engine)
            return run(engine, make_answerer)

        def kills(call):
            engines[0].process.kill()
            return kernels.without_lse_ln(call)

        with mock.patch.object(_engine.Engine, "run", noted):
            with self.assertRaisesRegex(recto.EngineFailed, "the engine ended by signal SIGKILL"):
                self.verify(decode=kills)

    def test_an_undeclared_rounding_is_told_and_a_declared_one_passes(self):
        def rounds_products(call):
            return kernels.attention(call, products="bf16")

        words = dict(decode=rounds_products, cases=12, types=["fp16"], laws=["oracle"])
        report = self.verify(**words)
        self.assertGreater(report.failed, 0)
        self.assertIn("numerics=recto.Numerics(products='bf16') or numerics=",
                      report.minimize().explanation)
        numerics = recto.Numerics(products="bf16", p="fp16", exp="approx", accumulate="fp32")
        right = self.verify(**words, numerics=numerics)
        right.raise_for_failures()
        self.assertEqual(right.failed, 0)

    def test_the_smallest_failure_comes_first_and_tells_how_to_replay_it(self):
        words = dict(types=["fp16"], without=["sinks"])
        report = self.verify(decode=kernels.too_wide, cases=40, laws=["chunking", "oracle"],
                             failures=2, isolate=True, **words)
        sizes = [failure.size for failure in report.failures]
        self.assertEqual(sizes, sorted(sizes))
        smallest = report.minimize()
        self.assertIs(smallest, report.failures[0])
        self.assertEqual(smallest.law, "oracle")
        self.assertTrue(smallest.explanation)
        self.assertIn("decode=..., isolate=True)", smallest.text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
