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
        of, wrap = call.torch(device="cuda" if ON_GPU else None), (lambda tensor: tensor)
        out, lse_ln = torch.empty_like(of.out), torch.empty_like(of.lse_ln)
    else:
        of, wrap = call, Tensor
        out = np.empty(call.out.shape, call.out.dtype)
        lse_ln = np.empty(call.lse_ln.shape, np.float32)
    q, k, v, table = map(wrap, (of.q, of.k_cache, of.v_cache, of.block_table))
    window = call.window or call.max_context_length + 1
    decode[(call.num_seqs, call.num_q_heads)](
        q, k, v, table, wrap(of.context_length), wrap(out), wrap(lse_ln), call.scale, window,
        table.stride()[0], *q.stride()[:2], *k.stride()[:3], *v.stride()[:3],
        call.num_q_heads // call.num_kv_heads, HEAD_DIM=call.head_dim_k,
        DIMS=triton.next_power_of_2(call.head_dim_k), BLOCK_SIZE=call.block_size,
        SLOTS=triton.next_power_of_2(call.block_size),
    )
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
