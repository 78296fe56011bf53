#!/usr/bin/env python3
"""Tests of the adapters: a right kernel of each engine's arguments passes, and faults are found.

    adapters_test.py RECTO_KERNELS INIT_PY
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
sys.path.insert(0, str(Path(__file__).absolute().parent))

import numpy as np  # noqa: E402

import kernels_testing as kernels  # noqa: E402
import recto  # noqa: E402
from recto import adapters  # noqa: E402

SMALL = dict(context_max=120, sequences_max=4, rows_max=12, q_heads_max=8, types=["fp32"],
             laws=["oracle", "batch_independence", "zero_context"], explain=False)


class FakeTensor(np.ndarray):
    """Knows the device to which it was copied."""

    device_name = None

    def to(self, device):
        made = self.copy()
        made.device_name = device
        return made

    def __array_finalize__(self, made_from):
        self.device_name = getattr(made_from, "device_name", None)


FAKE_TORCH = SimpleNamespace(device=lambda name: SimpleNamespace(type=name))


def attend(q, k, v, scale, causal=True, left=-1, cap=0.0, slopes=None, sinks=None):
    """q [rows, heads, dim] against k and v [keys, KV heads, dim]; the last row is the last key."""
    rows, heads, n = len(q), q.shape[1], len(k)
    k, v = (np.repeat(np.asarray(each, float), heads // each.shape[1], 1) for each in (k, v))
    i, j = np.arange(n - rows, n)[:, None, None], np.arange(n)
    scores = scale * np.einsum("rhd,jhd->rhj", np.asarray(q, float), k)
    if cap:
        scores = cap * np.tanh(scores / cap)
    if slopes is not None:
        scores = scores + np.asarray(slopes)[:, None] * (j - i)
    seen = np.broadcast_to(j <= i if causal else True, scores.shape)
    if left >= 0:
        seen = seen & (j >= i - left)
    scores = np.where(seen, scores, -np.inf)
    sink = np.full(heads, -np.inf) if sinks is None else np.asarray(sinks, float)
    top = np.maximum(scores.max(-1, initial=-np.inf), sink)
    top = np.where(np.isfinite(top), top, 0)
    weights = np.exp(scores - top[..., None])
    total = weights.sum(-1) + np.exp(sink - top)
    with np.errstate(divide="ignore"):
        lse_ln = top + np.log(total)
    weights = weights / np.where(total > 0, total, 1)[..., None]
    out = np.zeros((rows, heads, v.shape[2]))
    for r, h in np.ndindex(rows, heads):
        used = weights[r, h] > 0
        out[r, h] = weights[r, h, used] @ v[used, h]
    return out, lse_ln


def rows_of(starts, s):
    return slice(int(starts[s]), int(starts[s + 1]))


def vllm_kernel(layout, fault=None):
    def kernel(query, key_cache, value_cache, block_table, seq_lens, query_start_loc, max_query_len,
               max_seq_len, scale, causal, sliding_window, logits_soft_cap, alibi_slopes, sinks,
               k_scale, v_scale):
        def by_token(cache):
            if layout == "NHD":
                return cache
            if layout == "HND":
                return cache.transpose(0, 2, 1, 3)
            if cache.ndim == 4:
                return cache.transpose(0, 3, 1, 2)
            moved = cache.transpose(0, 3, 1, 2, 4)
            return moved.reshape(*moved.shape[:3], -1)

        keys, values = by_token(key_cache), by_token(value_cache)
        out = np.zeros((*query.shape[:2], values.shape[3]))
        left = sliding_window + (fault == "window" and sliding_window >= 0)
        sinks = None if fault == "sinks" else sinks
        for s, n in enumerate(seq_lens.tolist()):
            at = np.arange(n)
            at = block_table[s][at // keys.shape[1]], at % keys.shape[1]
            if fault == "consecutive blocks" and n:
                at = (block_table[s][0] + np.arange(n) // keys.shape[1]) % len(keys), at[1]
            rows = rows_of(query_start_loc, s)
            out[rows] = attend(query[rows], keys[at], values[at], scale, causal, left,
                               logits_soft_cap, alibi_slopes, sinks)[0]
        return out

    return kernel


def flash_kernel(appends, fault=None):
    def kernel(q, k_cache, v_cache, cache_seqlens, block_table, softmax_scale, causal, window_size,
               softcap, alibi_slopes, k=None, v=None):
        out = np.zeros((*q.shape[:3], v_cache.shape[3]))
        lse_ln = np.zeros((q.shape[0], q.shape[2], q.shape[1]))
        for s, n in enumerate(np.asarray(cache_seqlens).tolist()):
            at = np.arange(n)
            at = block_table[s][at // k_cache.shape[1]], at % k_cache.shape[1]
            keys, values = k_cache[at], v_cache[at]
            softcap = 0 if fault == "softcap" else softcap
            if appends:
                keys, values = np.concatenate([keys, k[s]]), np.concatenate([values, v[s]])
            out[s], of_rows = attend(q[s], keys, values, softmax_scale, causal, window_size[0],
                                     softcap, alibi_slopes)
            lse_ln[s] = of_rows.T + (fault == "lse") * 1e-3
        return out, lse_ln

    return kernel


def flashinfer_kernel(layout, fault=None):
    def kernel(q, paged_kv_cache, qo_indptr, paged_kv_indptr, paged_kv_indices,
               paged_kv_last_page_len, sm_scale, causal, window_left, logits_soft_cap):
        caches = paged_kv_cache
        if layout == "HND":
            caches = [each.transpose(0, 2, 1, 3) for each in caches]
        out = np.zeros((*q.shape[:2], caches[1].shape[3]))
        for s, last in enumerate(paged_kv_last_page_len.tolist()):
            pages = paged_kv_indices[rows_of(paged_kv_indptr, s)]
            n = (len(pages) - 1) * caches[0].shape[1] + last if len(pages) else 0
            if fault == "last page":
                n = len(pages) * caches[0].shape[1]
            n = max(0, n - (fault == "last key"))
            keys, values = (each[pages].reshape(-1, *each.shape[2:])[:n] for each in caches)
            rows = rows_of(qo_indptr, s)
            out[rows] = attend(q[rows], keys, values, sm_scale, causal, window_left,
                               logits_soft_cap)[0]
        return out

    return kernel


def sglang_kernel(fault=None):
    def kernel(q, k_buffer, v_buffer, qo_indptr, kv_indptr, kv_indices, sm_scale, causal,
               sliding_window_size, logit_cap):
        out = np.zeros((*q.shape[:2], v_buffer.shape[2]))
        for s in range(len(kv_indptr) - 1):
            slots = kv_indices[rows_of(kv_indptr, s)]
            rows = rows_of(qo_indptr, s)
            scale = sm_scale * (1 + (fault == "scale") * 1e-4)
            causal = causal and fault != "mask"
            out[rows] = attend(q[rows], k_buffer[slots], v_buffer[slots], scale, causal,
                               sliding_window_size, logit_cap)[0]
        return out

    return kernel


def padded_kernel(fault=None):
    def kernel(q, k, v, mask, bias, q_lengths, kv_lengths, scale, softcap):
        group = q.shape[1] // k.shape[1]
        k, v = (np.repeat(each, group, 1).astype(float) for each in (k, v))
        scores = scale * np.einsum("shrd,shjd->shrj", q.astype(float), k)
        if softcap:
            scores = softcap * np.tanh(scores / softcap)
        if bias is not None:
            scores = scores + (0.99 if fault == "bias" else 1) * bias
        if fault != "mask":
            scores = np.where(mask, scores, -np.inf)
        top = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
        total = weights.sum(-1, keepdims=True)
        return np.einsum("shrj,shjd->shrd", weights / np.where(total > 0, total, 1), v)

    return kernel


class Adapters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def verify(self, function, cases, **words):
        return recto.verify(prefill=function, folder=self.folder, cases=cases, **{**SMALL, **words})

    def check(self, make, faults, layout="token-major", **words):
        """`make` gives the adapted kernel with a fault; it is right with None."""
        words["layouts"] = [layout]
        report = self.verify(make(None), 10, **words)
        report.raise_for_failures()
        self.assertGreater(report.checks, 5, report)
        for fault in faults:
            with self.subTest(fault):
                failed = self.verify(make(fault), 20, fail_fast=True, **words).failed
                self.assertGreater(failed, 0)

    def test_vllm(self):
        for name, layout in (("NHD", "token-major"), ("HND", "head-major"), ("v0", "packed")):
            with self.subTest(name):
                self.check(lambda fault: adapters.vllm(vllm_kernel(name, fault), layout=name),
                           ["window", "sinks", "consecutive blocks"], layout)

    def test_vllms_write(self):
        def adapted(fault):
            def kernel(key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale):
                for token, slot in enumerate(slot_mapping.tolist()):
                    if slot >= 0:
                        at = divmod(slot, key_cache.shape[1])
                        key_cache[at], value_cache[at] = key[token], value[token - fault]

            return adapters.vllm(kernel)

        words = {**SMALL, "laws": None, "layouts": ["token-major"], "folder": self.folder}
        words["cases"] = 8
        recto.verify(kv_write=adapted(0), **words).raise_for_failures()
        self.assertGreater(recto.verify(kv_write=adapted(1), **words).failed, 0)

    def test_flash_attention(self):
        for appends in (False, True):
            with self.subTest(appends=appends):
                self.check(
                    lambda fault: adapters.flash_attn_with_kvcache(
                        flash_kernel(appends, fault), appends=appends),
                    ["lse", "softcap"], without=["sinks", "rows-beyond-context"],
                )

    def test_flashinfer(self):
        for name, layout in (("NHD", "token-major"), ("HND", "head-major")):
            with self.subTest(name):
                self.check(
                    lambda fault: adapters.flashinfer(flashinfer_kernel(name, fault), layout=name),
                    ["last key", "last page"], layout, without=["sinks", "alibi"])

    def test_sglang(self):
        self.check(lambda fault: adapters.sglang(sglang_kernel(fault)), ["scale", "mask"],
                   without=["sinks", "alibi"])

    def test_padded(self):
        self.check(lambda fault: adapters.padded(padded_kernel(fault)), ["bias", "mask"],
                   without=["sinks"], require=["alibi"])

    def test_calls_that_an_engine_cannot_have_are_skipped_with_the_reason(self):
        report = self.verify(adapters.sglang(sglang_kernel()), 10)
        self.assertEqual(report.failed, 0)
        self.assertTrue({"sinks", "alibi_slopes"} & set(report.skips), report.skips)

    def test_a_device_gets_every_argument(self):
        for make, kernel, words in (
            (adapters.vllm, vllm_kernel("NHD"), {}),
            (adapters.flash_attn_with_kvcache, flash_kernel(True), dict(appends=True)),
            (adapters.flashinfer, flashinfer_kernel("NHD"), {}),
            (adapters.sglang, sglang_kernel(), {}), (adapters.padded, padded_kernel(), {}),
        ):
            def on_device(**arguments):
                arrays = [each for argument in arguments.values()
                          for each in (argument if isinstance(argument, tuple) else [argument])
                          if isinstance(each, np.ndarray)]
                self.assertGreater(len(arrays), 4)
                self.assertEqual({getattr(each, "device_name", None) for each in arrays}, {"gpu"})
                return kernel(**arguments)

            with self.subTest(make.__name__), mock.patch.object(
                    recto._types, "tensor_of", lambda array, _: array.view(FakeTensor)), \
                    mock.patch.dict(sys.modules, torch=FAKE_TORCH):
                self.verify(make(on_device, device="gpu", **words), 6, laws=["oracle"],
                            layouts=["token-major"],
                            without=["sinks", "alibi", "rows-beyond-context"]).raise_for_failures()

    def test_unknown_layouts_are_refused(self):
        with self.assertRaisesRegex(ValueError, "expected NHD, HND or v0, got 'HHD'"):
            adapters.vllm(print, layout="HHD")
        with self.assertRaisesRegex(ValueError, "expected NHD or HND"):
            adapters.flashinfer(print, layout="v0")

    def test_new_tokens_are_not_left_in_the_cache(self):
        def looks(call):
            new = call.split_new_tokens()
            at = new.slot_mapping // call.block_size, new.slot_mapping % call.block_size
            self.assertTrue(np.all(np.isnan(new.k_cache[at])))
            self.assertTrue(np.array_equal(new.k, call.k_cache[at]))
            return kernels.attention(call)

        self.verify(looks, 4, laws=["oracle"], layouts=["token-major"],
                    without=["rows-beyond-context", "empty"]).raise_for_failures()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
