#!/usr/bin/env python3
"""A paged decode kernel in Triton, judged on a GPU or by Triton's interpreter.

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

import recto  # noqa: E402
from recto.triton_numpy import Tensor  # noqa: E402
from triton_kernel import decode  # noqa: E402

# The interpreter truncates to bf16 where a GPU rounds, so bf16 is left to the GPU.
CASES = dict(types=["fp32", "fp16"] + ["bf16"] * ON_GPU, layouts=["token-major"],
             without=["alibi", "sinks", "softcap"], equal_head_dims=True, cases=24, seed=1,
             laws=["oracle", "unaddressed_slots", "masked_keys"], context_max=100,
             sequences_max=4, q_heads_max=8)


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
        call.num_q_heads // call.num_kv_heads, HEAD_DIM=call.head_dim_k,
        DIMS=triton.next_power_of_2(call.head_dim_k), BLOCK_SIZE=call.block_size,
        SLOTS=triton.next_power_of_2(call.block_size),
    )
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
