#!/usr/bin/env python3
"""A paged decode kernel in Triton, judged as Triton compiles it for a GPU: the PTX runs on this
machine, with every access checked.

    python triton_ptx.py [80 | 90]
"""

import functools
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import recto

TYPES = {"fp32": "fp32", "fp16": "fp16", "int32": "i32"}
CASES = dict(types=["fp32", "fp16"], layouts=["token-major"], head_dims=[64], block_sizes=[16],
             without=["alibi", "sinks", "softcap", "window"], equal_head_dims=True, cases=12,
             seed=1, laws=["oracle", "unaddressed_slots"], context_max=100, sequences_max=4,
             q_heads_max=8)


@triton.jit
def decode(q, k_cache, v_cache, block_table, context_length, out, lse_ln, scale,
           max_blocks, q_row, q_head, k_block, k_slot, k_head, v_block, v_slot, v_head, group,
           HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    dims, slots = tl.arange(0, HEAD_DIM), tl.arange(0, BLOCK_SIZE)
    length = tl.load(context_length + row)
    query = tl.load(q + row * q_row + head * q_head + dims).to(tl.float32)
    largest, total = float("-inf"), 0.0
    result = tl.zeros([HEAD_DIM], dtype=tl.float32)
    for index in range(tl.cdiv(length, BLOCK_SIZE)):
        block = tl.load(block_table + row * max_blocks + index).to(tl.int64)
        is_seen = index * BLOCK_SIZE + slots < length
        # What is not seen may be NaN, and NaN times 0 is NaN: it is not loaded.
        place = k_cache + block * k_block + (head // group) * k_head
        k = tl.load(place + slots[:, None] * k_slot + dims[None, :], mask=is_seen[:, None], other=0)
        place = v_cache + block * v_block + (head // group) * v_head
        v = tl.load(place + slots[:, None] * v_slot + dims[None, :], mask=is_seen[:, None], other=0)
        scores = scale * tl.sum(k.to(tl.float32) * query[None, :], axis=1)
        scores = tl.where(is_seen, scores, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, axis=0))
        weights = tl.exp(scores - top)
        factor = tl.exp(largest - top)
        total = total * factor + tl.sum(weights, axis=0)
        result = result * factor + tl.sum(weights[:, None] * v.to(tl.float32), axis=0)
        largest = top
    is_empty = total == 0.0
    result = tl.where(is_empty, 0.0, result / tl.where(is_empty, 1.0, total))
    place = (row * tl.num_programs(1) + head) * HEAD_DIM
    tl.store(out + place + dims, result.to(out.dtype.element_ty))
    shown = tl.where(is_empty, float("-inf"), largest + tl.log(tl.where(is_empty, 1.0, total)))
    tl.store(lse_ln + row * tl.num_programs(1) + head, shown)


@functools.lru_cache(None)
def compiled(target, kind, head_dim, block_size):
    """The kernel for a card, and how many threads and bytes of shared memory it takes."""
    names = decode.arg_names
    pointers = dict.fromkeys(("q", "k_cache", "v_cache", "out"), f"*{kind}")
    pointers.update(block_table="*i32", context_length="*i32", lse_ln="*fp32")
    constants = {"HEAD_DIM": head_dim, "BLOCK_SIZE": block_size}
    signature = {name: pointers.get(name, "i32") for name in names}
    signature.update(scale="fp32", **dict.fromkeys(constants, "constexpr"))
    source = ASTSource(decode, signature, {(names.index(name),): value
                                           for name, value in constants.items()})
    made = triton.compile(source, target=GPUTarget("cuda", target, 32))
    # Not races: where warps hold the same numbers, Triton lets each of them write its copy to one
    # place in shared memory.
    module = recto.ptx.Module(made, checks=["uninitialised-memory", "undefined-registers"])
    return module.kernel(), 32 * made.metadata.num_warps, made.metadata.shared


def attention(call, target):
    kernel, threads, shared = compiled(target, TYPES[call.q_type], call.head_dim_k, call.block_size)
    out = np.empty(call.out.shape, call.out.dtype)
    lse_ln = np.empty(call.lse_ln.shape, np.float32)
    q, k, v, table = ([step // array.itemsize for step in array.strides]
                      for array in (call.q, call.k_cache, call.v_cache, call.block_table))
    if call.num_seqs > 0:
        kernel[(call.num_seqs, call.num_q_heads), threads](
            call.q, call.k_cache, call.v_cache, call.block_table, call.context_length,
            recto.ptx.unwritten(out), recto.ptx.unwritten(lse_ln), call.scale, table[0],
            q[0], q[1], k[0], k[1], k[2], v[0], v[1], v[2], call.num_q_heads // call.num_kv_heads,
            shared=shared)
    return out, lse_ln


if __name__ == "__main__":
    target = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    report = recto.verify(decode=functools.partial(attention, target=target), **CASES)
    print(report)
    report.raise_for_failures()
