#!/usr/bin/env python3
"""Each peer that runs on a CPU must be right there: PyTorch's, and the Triton kernel by its
interpreter. Calls of peers from packages are checked against the packages' signatures. Skipped if
PyTorch is not installed, in part if Triton or a package is not; RECTO_PYTHON names an interpreter
that has them.
"""

import inspect
import os
import sys
import unittest
from dataclasses import replace
from unittest import mock

sys.dont_write_bytecode = True
os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

try:
    import torch
except ImportError as missing:
    print(f"SKIPPED: the GPU peers on a CPU: {missing}")
    sys.exit(0)

from gpu_peers.case import SMALL_CASES, parse_case  # noqa: E402
from gpu_peers.peers import Skipped, find_peer  # noqa: E402
from gpu_peers.problem import (  # noqa: E402
    check,
    expected_output,
    make_edge_problem,
    make_problem,
)
from gpu_peers.session import Session  # noqa: E402

DECODE, PREFILL = SMALL_CASES[0], SMALL_CASES[4]
ON_CPU = ("sdpa", "gather", "flex", "triton")


def peer_or_skip(test, name):
    try:
        return find_peer(name)
    except Skipped as why:
        print(f"SKIPPED: {name}: {why}")
        test.skipTest(str(why))


class PeersTest(unittest.TestCase):
    def test_each_that_runs_on_a_cpu_is_right(self):
        for name in ON_CPU:
            with self.subTest(name):
                peer = peer_or_skip(self, name)
                served = [case for case in SMALL_CASES if case.operation in peer.operations]
                for case in served:
                    outcome = next(Session("cpu", 1).outcomes(case, [peer]))
                    self.assertEqual((outcome.state, outcome.why), ("right", ""), case.name)
                    self.assertEqual(outcome.seconds, [])
                self.assertGreater(len(served), 3)

    def test_the_mask_of_flex_attention_has_the_blocks_of_the_tables(self):
        from gpu_peers.flex_peer import paged_mask

        problem = make_problem(DECODE, "cpu")
        mask = paged_mask(problem)
        for s, count in enumerate(DECODE.block_counts()):
            listed = [indices[s, 0, 0, :int(counts[s, 0, 0])].tolist() for indices, counts in (
                (mask.full_kv_indices, mask.full_kv_num_blocks),
                (mask.kv_indices, mask.kv_num_blocks))]
            # The last block is not full, and asks the mask's function.
            self.assertEqual(listed[0] + listed[1], problem.block_table[s, :count].tolist())
            self.assertEqual(len(listed[1]), 1)

    def test_flashinfers_page_lists_are_the_tables(self):
        from gpu_peers.package_peers import page_lists, query_starts

        problem = make_problem(parse_case("decode_skewed/batch:3/context:40/block:16/kv_heads:1"),
                               "cpu")  # contexts of 40, 20 and 10
        starts, ids, last = page_lists(problem)
        self.assertEqual(starts.tolist(), [0, 3, 5, 6])
        self.assertEqual(last.tolist(), [8, 4, 10])
        rows = problem.block_table.tolist()
        self.assertEqual(ids.tolist(), rows[0] + rows[1][:2] + rows[2][:1])
        self.assertEqual((starts.dtype, ids.dtype, last.dtype), (torch.int32,) * 3)
        self.assertEqual(query_starts(make_problem(PREFILL, "cpu")).tolist(), [0, 24, 48])

    def test_packages_take_the_arguments_that_they_are_given(self):
        """Replaces the packages' functions by checks of arguments against their signatures."""
        for name, module, function in (
            ("flashinfer", "flashinfer", "BatchDecodeWithPagedKVCacheWrapper"),
            ("flashinfer", "flashinfer", "BatchPrefillWithPagedKVCacheWrapper"),
            ("flash-attn", "flash_attn", "flash_attn_with_kvcache"),
            ("vllm", "vllm.vllm_flash_attn", "flash_attn_varlen_func"),
        ):
            with self.subTest(function):
                peer = peer_or_skip(self, name)
                real = getattr(sys.modules[module], function)
                spec = mock.create_autospec(real)
                case = PREFILL if "Prefill" in function else DECODE
                with mock.patch.object(sys.modules[module], function, spec):
                    peer.prepare(make_problem(case, "cpu"), None).call()
                calls = spec.return_value.run if inspect.isclass(real) else spec
                calls.assert_called_once()


class TritonTest(unittest.TestCase):
    def test_any_splits_and_tiles_are_right_and_no_context_gives_0(self):
        peer_or_skip(self, "triton")
        from gpu_peers.triton_decode import Inputs, PagedDecode, Tuning

        case = replace(DECODE, type="fp16")  # in bf16 the interpreter cuts off
        problem = make_edge_problem(case, "cpu")
        expected = expected_output(problem)
        expected[1] = 0
        problem.context_length[1] = 0
        inputs = Inputs(problem.q, problem.k_pool, problem.v_pool, problem.block_table,
                        problem.context_length)
        for tuning in (Tuning(1, 16), Tuning(2, 32), Tuning(7, 16), Tuning(64, 64)):
            out = PagedDecode(inputs, problem.scale, tuning)()
            self.assertEqual(check(problem, expected, out)[1], "", tuning)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of packages, about their own insides
