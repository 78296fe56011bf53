#!/usr/bin/env python3
"""A paged decode in Numba, judged as Numba compiles it for a GPU: the PTX runs on this machine,
with every access checked.

    python numba_decode.py
"""

import functools
import math

import numba
import numpy as np
from numba import cuda

import recto

HEAD_DIM, THREADS = 64, 32
CASES = dict(types=["fp32", "fp16"], layouts=["token-major"], head_dims=[HEAD_DIM],
             block_sizes=[16], equal_head_dims=True, without=["alibi", "sinks", "softcap"],
             cases=12, seed=1, laws=["oracle", "unaddressed_slots"], context_max=100,
             sequences_max=4, q_heads_max=8)


def decode(q, k, v, table, lengths, out, lse_ln, scale, window, max_blocks, block_size, group,
           q_strides, k_strides, v_strides):
    """One thread block for a sequence and query head: thread t has the keys t, t + THREADS, ..."""
    shared_max = cuda.shared.array(THREADS, numba.float32)
    shared_sum = cuda.shared.array(THREADS, numba.float32)
    shared_out = cuda.shared.array((THREADS, HEAD_DIM), numba.float32)
    thread, row, head, num_heads = (cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockIdx.y,
                                    cuda.gridDim.y)
    length = lengths[row]
    largest, total = numba.float32(-math.inf), numba.float32(0)
    for d in range(HEAD_DIM):
        shared_out[thread, d] = 0
    for key in range(max(0, length - window) + thread, length, THREADS):
        block = numba.int64(table[row * max_blocks + key // block_size])
        k_at = block * k_strides[0] + key % block_size * k_strides[1] + head // group * k_strides[2]
        v_at = block * v_strides[0] + key % block_size * v_strides[1] + head // group * v_strides[2]
        score = numba.float32(0)
        for d in range(HEAD_DIM):
            score += (numba.float32(q[row * q_strides[0] + head * q_strides[1] + d])
                      * numba.float32(k[k_at + d]))
        score *= scale
        before, largest = largest, max(largest, score)
        kept, weight = math.exp(before - largest), math.exp(score - largest)
        total = total * kept + weight
        for d in range(HEAD_DIM):
            shared_out[thread, d] = (shared_out[thread, d] * kept
                                     + weight * numba.float32(v[v_at + d]))
    shared_max[thread], shared_sum[thread] = largest, total
    cuda.syncthreads()
    largest, total = numba.float32(-math.inf), numba.float32(0)
    for other in range(THREADS):
        largest = max(largest, shared_max[other])
    for other in range(THREADS):
        if shared_sum[other] > 0:
            total += shared_sum[other] * math.exp(shared_max[other] - largest)
    for d in range(thread, HEAD_DIM, THREADS):
        result = numba.float32(0)
        for other in range(THREADS):
            if shared_sum[other] > 0:
                result += shared_out[other, d] * math.exp(shared_max[other] - largest)
        out[(row * num_heads + head) * HEAD_DIM + d] = result / total if total > 0 else result
    if thread == 0:
        lse_ln[row * num_heads + head] = largest + math.log(total) if total > 0 else -math.inf


@functools.lru_cache(None)
def compiled(q_type):
    """The kernel for a card of compute capability 8.0."""
    element = numba.types.CPointer({"fp32": numba.float32, "fp16": numba.types.float16}[q_type])
    integers, floats = numba.types.CPointer(numba.int32), numba.types.CPointer(numba.float32)
    strides = numba.types.CPointer(numba.int64)
    signature = (element, element, element, integers, integers, element, floats, numba.float32,
                 *[numba.int32] * 4, strides, strides, strides)
    ptx, _ = cuda.compile_ptx(decode, signature, cc=(8, 0), abi="numba")
    return recto.ptx.Module(ptx).kernel()


def attention(call):
    out = np.empty(call.out.shape, call.out.dtype)
    lse_ln = np.empty(call.lse_ln.shape, np.float32)
    if call.num_seqs > 0:
        compiled(call.q_type)[(call.num_seqs, call.num_q_heads), THREADS](
            call.q, call.k_cache, call.v_cache, call.block_table, call.context_length,
            recto.ptx.unwritten(out), recto.ptx.unwritten(lse_ln), call.scale,
            call.window or call.max_context_length, call.block_table.strides[0] // 4,
            call.block_size, call.num_q_heads // call.num_kv_heads,
            *(np.array(array.strides) // array.itemsize
              for array in (call.q, call.k_cache, call.v_cache)))
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
