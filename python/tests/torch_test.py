#!/usr/bin/env python3
"""Tests of functions over torch tensors. Skipped without PyTorch.

    torch_test.py RECTO_KERNELS INIT_PY
"""

import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
sys.path.insert(0, str(Path(__file__).absolute().parent))

try:
    import torch
except ImportError as error:
    print(f"SKIPPED: PyTorch is not installed: {error}")
    sys.exit(0)

import kernels_testing as kernels  # noqa: E402
import recto  # noqa: E402

WORDS = dict(cases=6, laws=["oracle"], context_max=100, sequences_max=3, rows_max=12,
             q_heads_max=8, explain=False)


class Tensors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def verify(self, function, **words):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return recto.verify(prefill=function, folder=self.folder, **{**WORDS, **words})

    def test_arguments_and_results_of_every_type(self):
        def function(call):
            made = call.torch()
            out, lse_ln = kernels.attention(call)
            self.assertEqual(made.k_cache.shape, call.k_cache.shape)
            self.assertEqual(made.k_cache.stride(),
                             tuple(n // call.k_cache.itemsize for n in call.k_cache.strides))
            return torch.from_numpy(out).to(made.q.dtype), torch.from_numpy(lse_ln)

        self.verify(function, cases=16).raise_for_failures()

    def test_an_adapters_device_takes_arguments_and_gives_results(self):
        seen = []

        def kernel(q, k, v, mask, scale, softcap, **_):
            seen.append(q.device.type)
            group = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            scores = (scale * q @ k.mT).masked_fill(~mask, float("-inf"))
            return torch.nan_to_num(torch.softmax(scores, -1)) @ v

        def write(key, value, key_cache, value_cache, slot_mapping, **_):
            used = slot_mapping >= 0
            at = slot_mapping[used]
            at = at // key_cache.shape[1], at % key_cache.shape[1]
            key_cache[at], value_cache[at] = key[used], value[used]

        self.verify(recto.adapters.padded(kernel, device="cpu"), types=["fp32"],
                    without=["sinks", "alibi", "softcap"]).raise_for_failures()
        self.assertEqual(set(seen), {"cpu"})
        recto.verify(kv_write=recto.adapters.vllm(write, device="cpu"), folder=self.folder,
                     types=["fp32"], layouts=["token-major"],
                     **{**WORDS, "laws": None}).raise_for_failures()

    def test_results_written_in_place(self):
        def function(call):
            made = call.torch()
            out, lse_ln = kernels.attention(call)
            made.out.copy_(torch.from_numpy(out))
            made.lse_ln.copy_(torch.from_numpy(lse_ln))
            return made.out, made.lse_ln

        self.verify(function).raise_for_failures()

    def test_a_dense_batch_for_sdpa(self):
        def sdpa(q, k, v, mask, bias, q_lengths, kv_lengths, scale, softcap):
            group = q.shape[1] // k.shape[1]
            k, v = (each.repeat_interleave(group, 1) for each in (k, v))
            added = torch.where(mask, 0.0, -torch.inf) + (0 if bias is None else bias)
            out = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=added, scale=scale
            )
            return torch.nan_to_num(out)

        words = dict(types=["fp32"], without=["sinks", "softcap"])
        self.verify(recto.adapters.padded(sdpa, tensors=True), **words).raise_for_failures()

    def test_what_is_wrong_is_named(self):
        def inputs_changed(call):
            call.torch().q.zero_()
            return torch.zeros(call.out.shape)

        for function, text in (
            (lambda call: call.torch().q, "out: expected memory of its own, got a view of q"),
            (lambda call: torch.zeros(call.out.shape, dtype=torch.int64), "got int64"),
            (lambda call: torch.zeros(call.out.shape, device="meta"), "got one on meta"),
            (lambda call: torch.zeros(call.out.shape).to_sparse(), "expected a dense tensor"),
            (inputs_changed, "of q, which may only be read"),
        ):
            with self.subTest(text):
                report = self.verify(function, types=["bf16"], equal_head_dims=True,
                                     without=["padding", "empty"])
                self.assertIn(text, report.failures[0].text)

    def test_a_tensor_that_is_kept_is_named(self):
        kept = []

        def keeps(call):
            kept.append(call.torch().v_cache)
            return kernels.attention(call)

        self.assertIn("kept an argument: v_cache", self.verify(keeps).failures[0].text)

    def test_assert_attention_takes_tensors(self):
        q, k = torch.ones(1, 2, 8, dtype=torch.bfloat16), torch.ones(2, 4, 1, 8).bfloat16()
        table, lengths = torch.tensor([[1]], dtype=torch.int32), torch.tensor([3])
        recto.assert_attention(torch.ones(1, 2, 8).bfloat16(), q, k, k, table, lengths)
        with self.assertRaises(AssertionError):
            recto.assert_attention(torch.ones(1, 2, 8).bfloat16() * 2, q, k, k, table, lengths)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
