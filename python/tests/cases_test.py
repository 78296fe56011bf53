#!/usr/bin/env python3
"""Tests of recto.cases, case.check, recto.assert_attention and filters.

    cases_test.py RECTO_KERNELS INIT_PY
"""

import os
import pickle
import sys
import unittest
from pathlib import Path

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))

import numpy as np  # noqa: E402

import kernels_testing as kernels  # noqa: E402
import recto  # noqa: E402
from recto import _types  # noqa: E402

SMALL = dict(context_max=100, sequences_max=4, rows_max=16, q_heads_max=16)


class Cases(unittest.TestCase):
    def test_expected_results_pass_and_others_do_not(self):
        operations = set()
        for case in recto.cases(cases=12, **SMALL):
            operations.add(case.op)
            if case.op == "kv_write":
                case.check((case.expected_k_cache, case.expected_v_cache))
                if case.q_type == "fp32":
                    wrong = case.expected_k_cache.copy()
                    wrong.view(np.uint32).flat[0] ^= 1
                    with self.assertRaisesRegex(recto.Wrong, "elements of k_cache are wrong"):
                        case.check((wrong, case.expected_v_cache))
                    for pools in ((), (case.expected_k_cache,), case.expected_k_cache):
                        with self.assertRaisesRegex(recto.UsageError, "k_cache, v_cache"):
                            case.check(pools)
                    with self.assertRaisesRegex(recto.UsageError, "v_cache: expected float32"):
                        case.check((case.expected_k_cache, case.expected_v_cache.astype("f8")))
                continue
            right = case.expected.astype(np.float32)
            case.check(right, case.expected_lse_ln, numerics=recto.Numerics())
            worst = right.copy()
            worst.flat[-1] += 1 + 100 * case.bound.flat[-1]
            with self.assertRaisesRegex(recto.Wrong, "1 of [0-9]+ elements are wrong") as caught:
                case.check(worst)
            self.assertEqual(str(caught.exception).count("elements are wrong"), 1)
            with self.assertRaisesRegex(recto.Wrong, "elements are wrong"):
                case.check(right, lse=np.where(np.isfinite(case.expected_lse_ln), 1e6, 0))
            beyond = (case.expected + 1.5 * case.bound).astype(np.float32)
            case.check(beyond, numerics=recto.Numerics(accumulate="bf16"))
        self.assertEqual(operations, {"decode", "prefill", "kv_write"})

    def test_a_case_has_what_the_document_says(self):
        case = next(recto.cases(cases=1, operations=["decode"], require=["window"], types=["fp16"],
                                without=["alibi", "sinks", "empty"], **SMALL))
        self.assertIsInstance(case.window, int)
        self.assertIsNone(case.alibi_slopes)
        self.assertEqual(case.q.dtype, np.float16)
        self.assertEqual(case.live.sum(axis=1).max() <= case.block_size, True)
        k, v = case.gather(0)
        self.assertEqual(len(k), case.context_length[0])
        self.assertEqual(v.shape[2], case.expected.shape[2])
        new = case.split_new_tokens()
        self.assertTrue(np.array_equal(new.cached_length, case.context_length - 1))
        self.assertEqual(new.k.shape, (len(case.q), *k.shape[1:]))
        self.assertTrue(np.all(np.isnan(new.k_cache.reshape(-1, *k.shape[1:])[new.slot_mapping])))
        with self.assertRaisesRegex(AttributeError, "no window_left"):
            case.window_left
        again = pickle.loads(pickle.dumps(case))
        self.assertTrue(np.array_equal(again.q, case.q))


class Filters(unittest.TestCase):
    def test_cases_are_within_them(self):
        words = dict(operations=["prefill"], types=["bf16/e4m3", "fp16"], head_dim_multiple=8,
                     equal_head_dims=True, groups=[2], block_sizes=[16, 32],
                     without=["empty", "rows-beyond-context", "alibi"],
                     require=["softcap", "sinks"],
                     poison="finite", scale="usual", scales="tensor", sinks_type="q", cases=12)
        for case in recto.cases(**words, **SMALL):
            head_dim = case.q.shape[2]
            self.assertIn((case.q_type, case.kv_type), (("bf16", "e4m3"), ("fp16", "fp16")))
            self.assertEqual((head_dim % 8, head_dim), (0, case.expected.shape[2]))
            self.assertIn(case.block_size, (16, 32))
            self.assertGreater(case.softcap, 0)
            self.assertIsNone(case.alibi_slopes)
            self.assertGreater(case.context_length.min(), 0)
            rows = np.diff(case.query_start)
            self.assertTrue(np.all((0 < rows) & (rows <= case.context_length)))
            self.assertAlmostEqual(case.scale, head_dim**-0.5, 6)
            for scale in (case.k_scale, case.v_scale):
                self.assertIn(None if scale is None else len(scale), (None, 1))
            codes = _types.rounded_codes(case.sinks, case.q_type)
            self.assertTrue(np.array_equal(_types.to_float32(codes, case.q_type), case.sinks))
            numbers = _types.to_float32(case.k_cache, case.kv_type)
            self.assertTrue(np.all(np.isfinite(numbers)))

    def test_poison_in_tails_apart_from_that_elsewhere(self):
        kinds = set()
        for case in recto.cases(cases=24, operations=["decode"], types=["fp32"], block_sizes=[16],
                                without=["empty"], tails="none", layouts=["token-major"], **SMALL):
            live = case.live
            owned = live.any(axis=1)
            self.assertTrue(np.all(case.k_cache[owned][~live[owned]] == 0))
            kinds.add(bool(np.all(np.isfinite(case.k_cache[~owned]))))
        self.assertEqual(kinds, {True, False})

    def test_powers_of_two_units_and_kinds(self):
        for case in recto.cases(cases=6, operations=["decode"], scale="power-of-two", **SMALL):
            self.assertEqual(np.frexp(case.scale)[0], 0.5)
        for case in recto.cases(cases=6, operations=["decode"], scale="unit",
                                kinds=["small", "model"], **SMALL):
            self.assertEqual(case.scale, 1)
        with self.assertRaisesRegex(recto.UsageError, "kinds: found 'tiny'"):
            next(recto.cases(kinds=["tiny"]))

    def test_a_list_of_out_and_lse_ln_is_a_result(self):
        recto.verify(decode=lambda call: [*kernels.attention(call)], cases=4, laws=["oracle"],
                     **SMALL).raise_for_failures()

    def test_names_of_numpy_torch_and_engines(self):
        for case in recto.cases(types=["float16", "torch.bfloat16/float8_e4m3fn"], layouts="HND",
                                cases=6, **SMALL):
            self.assertIn((case.q_type, case.kv_type), (("fp16", "fp16"), ("bf16", "e4m3")))
            self.assertEqual(case.layout, "head-major")
        for word, value, text in (("types", "half", "found 'half'"),
                                  ("layouts", ["NDH"], "found 'NDH'")):
            with self.assertRaisesRegex(recto.UsageError, f"{word}: {text}"):
                next(recto.cases(**{word: value}))
        with self.assertRaisesRegex(TypeError, "numerics: expected recto.Numerics.*, got 'bf16'"):
            recto.verify(decode=print, numerics="bf16")

    def test_those_that_leave_nothing_are_refused(self):
        for words, text in (
            (dict(require=["scales"], types=["fp16"]), "require: scales: expected an fp8 cache"),
            (dict(head_dims=[20], head_dim_multiple=8), "head_dims: found 20"),
            (dict(block_sizes=[16, 17]), "block_sizes: found '17'; expected powers of two and mul"),
            (dict(sinks_type="q", without=["sinks"]), "sinks_type: found q, but without leaves"),
            (dict(require=["negative-scale"], scale="unit"), "expected scale any"),
            (dict(require=["rows-beyond-context"], operations=["decode"]), "meets it"),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(recto.UsageError, text):
                    next(recto.cases(**words))


class AssertAttention(unittest.TestCase):
    def inputs(self, dtype=np.float32):
        random = np.random.default_rng(1)
        q = random.standard_normal((2, 4, 16)).astype(dtype)
        k, v = (random.standard_normal((6, 8, 2, 16)).astype(dtype) for _ in range(2))
        table = np.array([[4, 1], [0, 3]], np.int32)
        return q, k, v, table, np.array([13, 3], np.int32)

    def attention(self, *inputs, window=None):
        q, k, v, table, lengths = inputs
        out = np.zeros(q.shape)
        for s, n in enumerate(lengths):
            at = table[s][np.arange(n) // 8], np.arange(n) % 8
            keys, values = (np.repeat(each[at].astype(float), 2, 1) for each in (k, v))
            scores = np.einsum("hd,jhd->hj", q[s].astype(float), keys) / 4
            if window:
                scores[:, : max(0, n - window)] = -np.inf
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            out[s] = np.einsum("hj,jhd->hd", weights / weights.sum(-1, keepdims=True), values)
        return out

    def test_a_right_result_passes(self):
        for dtype in (np.float32, np.float16):
            inputs = self.inputs(dtype)
            recto.assert_attention(self.attention(*inputs).astype(dtype), *inputs)
            recto.assert_attention(self.attention(*inputs), *inputs)
        recto.assert_attention(
            self.attention(*self.inputs(), window=5).astype("f4"), *self.inputs(), window=5
        )
        q, k, v, *rest = self.inputs()
        by_heads = (np.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in (k, v))
        recto.assert_attention(self.attention(q, k, v, *rest), q, *by_heads, *rest, layout="HND")

    def test_a_wrong_result_is_told(self):
        inputs = self.inputs()
        out = self.attention(*inputs).astype(np.float32)
        out[1, 2, 3] += 0.01
        with self.assertRaises(AssertionError) as raised:
            recto.assert_attention(out, *inputs)
        self.assertRegex(str(raised.exception),
                         r"first out\[sequence 1, row 0, head 2, dim 3\](.|\n)*bound")
        with self.assertRaises(AssertionError):
            recto.assert_attention(self.attention(*inputs).astype("f4"), *inputs, window=5)

    def test_the_oracles_result(self):
        inputs = self.inputs()
        found = recto.oracle(*inputs)
        self.assertTrue(np.all(np.abs(found["expected"] - self.attention(*inputs)) < 1e-12))
        self.assertTrue(np.all(found["bound"] > 0))

    def test_wrong_arguments_are_named(self):
        q, k, v, table, lengths = self.inputs()
        out = np.zeros(q.shape, np.float32)
        for arguments, text in (
            ((out, q.astype(np.int64), k, v, table, lengths), "q: expected float32, float16"),
            ((out, q, k, v, table, lengths + 100), "context_length"),
            ((out[None], q, k, v, table, lengths), "out: expected"),
            ((out, q, k[0], v, table, lengths), "k_cache: expected"),
            ((out, q, k, v, table[0], lengths), "block_table: expected int32 of 2 dimensions"),
            ((out, q, k, v, table.astype(np.int64) + 2**32, lengths), "block_table"),
            ((out, q, k, v, table, lengths + 0.5), "context_length: expected integers, got float"),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(recto.UsageError, text):
                    recto.assert_attention(*arguments)
        for layout in ("hnd", ["HND"], None):
            with self.assertRaisesRegex(recto.UsageError, "layout: expected one of NHD, HND"):
                recto.assert_attention(out, q, k, v, table, lengths, layout=layout)


class Types(unittest.TestCase):
    def test_numbers_of_codes(self):
        for codes, name, expected in (
            ([0x3F80, 0xC000], "bf16", [1, -2]),
            ([0x38, 0x7E, 0x01, 0x80], "e4m3", [1, 448, 2.0**-9, 0]),
            ([0x3C, 0x7B, 0x01, 0x7C], "e5m2", [1, 57344, 2.0**-16, np.inf]),
        ):
            array = np.array(codes, _types.code_type(name))
            self.assertEqual(_types.to_float32(array, name).tolist(), expected)

    def test_roundings(self):
        values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -3.4e38, 1e39, np.nan])
        with np.errstate(over="ignore"):
            rounded = _types.to_float32(_types.rounded_codes(values, "bf16"), "bf16")
        self.assertEqual(rounded[:2].tolist(), [1, 1 + 2.0**-6])
        self.assertEqual(rounded[3], np.inf)
        self.assertTrue(np.isnan(rounded[4]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
