#!/usr/bin/env python3
"""A paged decode kernel in Triton: one program for each sequence and query head, over the blocks of
the sequence, with an online softmax.

    python triton_decode.py             on a GPU with PyTorch, if there is one
    TRITON_INTERPRET=1 python triton_decode.py      by the interpreter, with PyTorch or without
"""

import os

import numpy as np

try:
    import torch
except ImportError:
    torch = None
ON_GPU = torch is not None and torch.cuda.is_available() and not os.environ.get("TRITON_INTERPRET")
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import recto  # noqa: E402
from triton_numpy import Tensor  # noqa: E402

# The interpreter truncates to bf16 where a GPU rounds, so bf16 is left to the GPU.
CASES = dict(types=["fp32", "fp16"] + ["bf16"] * ON_GPU, layouts=["token-major"],
             without=["alibi", "sinks", "softcap"], equal_head_dims=True, cases=24, seed=1,
             laws=["oracle", "unaddressed_slots", "masked_keys"], context_max=100,
             sequences_max=4, q_heads_max=8)


@triton.jit
def decode(q, k_cache, v_cache, block_table, context_length, out, lse_ln, scale, window,
           max_blocks, q_row, q_head, k_block, k_slot, k_head, v_block, v_slot, v_head,
           GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, DIMS: tl.constexpr,
           BLOCK_SIZE: tl.constexpr, SLOTS: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    dims, slots = tl.arange(0, DIMS), tl.arange(0, SLOTS)
    is_dim = dims < HEAD_DIM
    length = tl.load(context_length + row)
    query = tl.load(q + row * q_row + head * q_head + dims, mask=is_dim, other=0).to(tl.float32)
    largest, total = float("-inf"), 0.0
    result = tl.zeros([DIMS], dtype=tl.float32)
    for index in range(tl.cdiv(length, BLOCK_SIZE)):
        block = tl.load(block_table + row * max_blocks + index).to(tl.int64)
        keys = index * BLOCK_SIZE + slots
        is_seen = (slots < BLOCK_SIZE) & (keys < length) & (keys > length - 1 - window)
        # What is not seen may be NaN, and NaN times 0 is NaN: it is not loaded.
        loads = is_seen[:, None] & is_dim[None, :]
        place = k_cache + block * k_block + (head // GROUP) * k_head
        k = tl.load(place + slots[:, None] * k_slot + dims[None, :], mask=loads, other=0)
        place = v_cache + block * v_block + (head // GROUP) * v_head
        v = tl.load(place + slots[:, None] * v_slot + dims[None, :], mask=loads, other=0)
        scores = scale * tl.sum(k.to(tl.float32) * query[None, :], axis=1)
        scores = tl.where(is_seen, scores, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, axis=0))
        safe = tl.where(top == float("-inf"), 0.0, top)
        weights = tl.exp(scores - safe)
        factor = tl.exp(largest - safe)
        total = total * factor + tl.sum(weights, axis=0)
        result = result * factor + tl.sum(weights[:, None] * v.to(tl.float32), axis=0)
        largest = top
    is_empty = total == 0.0
    result = tl.where(is_empty, 0.0, result / tl.where(is_empty, 1.0, total))
    place = (row * tl.num_programs(1) + head) * HEAD_DIM
    tl.store(out + place + dims, result.to(out.dtype.element_ty), mask=is_dim)
    shown = tl.where(is_empty, float("-inf"), largest + tl.log(tl.where(is_empty, 1.0, total)))
    tl.store(lse_ln + row * tl.num_programs(1) + head, shown)


def attention(call):
    """The kernel on a call: on torch tensors, which on a GPU are copies, or on NumPy arrays."""
    if torch is not None:
        of = call.torch(device="cuda") if ON_GPU else call.torch()
        out, lse_ln = torch.empty_like(of.out), torch.empty_like(of.lse_ln)
        wrap, strides = (lambda tensor: tensor), (lambda tensor: tensor.stride())
    else:
        of = call
        out = np.empty(call.out.shape, call.out.dtype)
        lse_ln = np.empty(call.lse_ln.shape, np.float32)
        wrap = Tensor
        strides = (lambda array: [step // array.itemsize for step in array.strides])
    q, k, v = strides(of.q), strides(of.k_cache), strides(of.v_cache)
    window = call.window or call.max_context_length + 1
    table = of.block_table
    decode[(call.num_seqs, call.num_q_heads)](
        wrap(of.q), wrap(of.k_cache), wrap(of.v_cache), wrap(table), wrap(of.context_length),
        wrap(out), wrap(lse_ln), call.scale, window, strides(table)[0],
        q[0], q[1], k[0], k[1], k[2], v[0], v[1], v[2],
        GROUP=call.num_q_heads // call.num_kv_heads, HEAD_DIM=call.head_dim_k,
        DIMS=triton.next_power_of_2(call.head_dim_k), BLOCK_SIZE=call.block_size,
        SLOTS=triton.next_power_of_2(call.block_size),
    )
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
