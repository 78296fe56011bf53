#!/usr/bin/env python3
"""A paged decode in NVIDIA's CuTe DSL, judged as it is compiled for a GPU: the PTX runs on this
machine, with every access checked.

    python cute_decode.py [sm_80 | sm_90a]
"""

import functools
import math
import os
import sys

os.environ["CUTE_DSL_ARCH"] = sys.argv[1] if len(sys.argv) > 1 else "sm_90a"
os.environ["CUTE_DSL_KEEP_PTX"] = "1"

import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
import numpy as np  # noqa: E402
from cutlass.cute.runtime import make_fake_tensor  # noqa: E402

import recto  # noqa: E402

HEAD_DIM, BLOCK_SIZE, LANES = 64, 16, 32
CASES = dict(types=["fp32", "fp16"], layouts=["token-major"], head_dims=[HEAD_DIM],
             block_sizes=[BLOCK_SIZE], equal_head_dims=True, without=["alibi", "sinks", "softcap"],
             cases=12, seed=1, laws=["oracle", "unaddressed_slots"], context_max=100,
             sequences_max=4, q_heads_max=8)


@cute.kernel
def decode(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, table: cute.Tensor,
           lengths: cute.Tensor, out: cute.Tensor, lse_ln: cute.Tensor, scale: cutlass.Float32,
           window: cutlass.Int32, group: cutlass.Int32):
    """One warp for a sequence and query head; each lane has HEAD_DIM / LANES dims."""
    lane, _, _ = cute.arch.thread_idx()
    row, head, _ = cute.arch.block_idx()
    length = lengths[row]
    largest, total = -cutlass.Float32.inf, cutlass.Float32(0)
    sums = cute.make_rmem_tensor(HEAD_DIM // LANES, cutlass.Float32)
    sums.fill(0.0)
    first = cutlass.max(length - window, 0)
    for key in range(first, length):
        block, slot = table[row, key // BLOCK_SIZE], key % BLOCK_SIZE
        partial = cutlass.Float32(0)
        for i in cutlass.range_constexpr(HEAD_DIM // LANES):
            d = lane + i * LANES
            partial += (q[row, head, d].to(cutlass.Float32)
                        * k[block, slot, head // group, d].to(cutlass.Float32))
        score = cute.arch.warp_reduction_sum(partial) * scale
        before = largest
        largest = cutlass.max(largest, score)
        kept = cute.math.exp(before - largest)
        weight = cute.math.exp(score - largest)
        total = total * kept + weight
        for i in cutlass.range_constexpr(HEAD_DIM // LANES):
            value = v[block, slot, head // group, lane + i * LANES].to(cutlass.Float32)
            sums[i] = sums[i] * kept + weight * value
    for i in cutlass.range_constexpr(HEAD_DIM // LANES):
        result = sums[i]
        if total > 0:
            result = result / total
        out[row, head, lane + i * LANES] = result.to(out.element_type)
    if lane == 0:
        lse_ln[row, head] = largest + cute.math.log(total)


@cute.jit
def launch(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, table: cute.Tensor,
           lengths: cute.Tensor, out: cute.Tensor, lse_ln: cute.Tensor, scale: cutlass.Float32,
           window: cutlass.Int32, group: cutlass.Int32):
    decode(q, k, v, table, lengths, out, lse_ln, scale, window, group).launch(
        grid=[q.shape[0], q.shape[1], 1], block=[LANES, 1, 1])


@functools.lru_cache(None)
def compiled(q_type):
    """The kernel, for the card that CUTE_DSL_ARCH names."""
    element = {"fp32": cutlass.Float32, "fp16": cutlass.Float16}[q_type]

    def tensor(kind, dims, last=None):
        """Dynamic sizes and strides, but for the last dimension."""
        shape = [cute.sym_int32() for _ in range(dims - 1)] + [last or cute.sym_int32()]
        return make_fake_tensor(kind, tuple(shape),
                                (*(cute.sym_int64() for _ in range(dims - 1)), 1))

    made = cute.compile(
        launch, tensor(element, 3, HEAD_DIM), *[tensor(element, 4, HEAD_DIM)] * 2,
        tensor(cutlass.Int32, 2), tensor(cutlass.Int32, 1), tensor(element, 3, HEAD_DIM),
        tensor(cutlass.Float32, 2), cutlass.Float32(1), cutlass.Int32(1), cutlass.Int32(1))
    return recto.ptx.Module(made.__ptx__).kernel()


def tensor(array, is_unwritten=False):
    """The struct that a kernel gets for a tensor: its address, dynamic sizes, dynamic strides."""
    sizes = array.shape[:-1] if array.ndim > 2 else array.shape  # HEAD_DIM is known
    strides = [step // array.itemsize for step in array.strides[:-1]]
    return (recto.ptx.unwritten(array) if is_unwritten else array, *map(np.int32, sizes),
            *map(np.int64, strides))


def attention(call):
    out = np.empty(call.out.shape, call.out.dtype)
    lse_ln = np.empty(call.lse_ln.shape, np.float32)
    if call.num_seqs > 0:
        arrays = (call.q, call.k_cache, call.v_cache, call.block_table, call.context_length)
        compiled(call.q_type)[(call.num_seqs, call.num_q_heads), LANES](
            *map(tensor, arrays), tensor(out, is_unwritten=True),
            tensor(lse_ln, is_unwritten=True), call.scale,
            call.window or call.max_context_length, call.num_q_heads // call.num_kv_heads)
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
