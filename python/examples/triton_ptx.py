#!/usr/bin/env python3
"""The kernel of triton_kernel.py, judged as Triton compiles it for a GPU: the PTX runs on this
machine, with every access checked.

    python triton_ptx.py [80 | 90] [CASES]       # with CASES, so many under every law
"""

import functools
import sys

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import recto
from triton_kernel import decode

CASES = dict(types=["fp32", "fp16", "bf16"], layouts=["token-major"], head_dims=[64],
             block_sizes=[16], without=["alibi", "sinks", "softcap"], equal_head_dims=True,
             cases=12, seed=1, laws=["oracle", "unaddressed_slots"], context_max=100,
             sequences_max=4, q_heads_max=8)


@functools.lru_cache(None)
def compiled(target, q_type, head_dim, block_size):
    """The kernel for a card."""
    names = decode.arg_names
    pointers = dict.fromkeys(("q", "k_cache", "v_cache", "out"), f"*{q_type}")
    pointers.update(block_table="*i32", context_length="*i32", lse_ln="*fp32")
    constants = {"HEAD_DIM": head_dim, "DIMS": triton.next_power_of_2(head_dim),
                 "BLOCK_SIZE": block_size, "SLOTS": triton.next_power_of_2(block_size)}
    signature = {name: pointers.get(name, "i32") for name in names}
    signature.update(scale="fp32", **dict.fromkeys(constants, "constexpr"))
    source = ASTSource(decode, signature, {(names.index(name),): value
                                           for name, value in constants.items()})
    # With a fused product in the first step of a sum over lanes, each lane has another sum, and
    # Triton 3.9 has all of them store it in one place: recto finds a race.
    options = {"enable_fp_fusion": False}
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
    return recto.ptx.Module(made).kernel()


def attention(call, target):
    kernel = compiled(target, call.q_type, call.head_dim_k, call.block_size)
    out = np.empty(call.out.shape, call.out.dtype)
    lse_ln = np.empty(call.lse_ln.shape, np.float32)
    q, k, v, table = ([step // array.itemsize for step in array.strides]
                      for array in (call.q, call.k_cache, call.v_cache, call.block_table))
    if call.num_seqs > 0:
        kernel[(call.num_seqs, call.num_q_heads), None](
            call.q, call.k_cache, call.v_cache, call.block_table, call.context_length,
            recto.ptx.unwritten(out), recto.ptx.unwritten(lse_ln), call.scale,
            call.window or call.max_context_length + 1, table[0], q[0], q[1], k[0], k[1], k[2],
            v[0], v[1], v[2], call.num_q_heads // call.num_kv_heads)
    return out, lse_ln


if __name__ == "__main__":
    target = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    words = {**CASES, "cases": int(sys.argv[2]), "laws": None} if len(sys.argv) > 2 else CASES
    report = recto.verify(decode=functools.partial(attention, target=target), **words)
    print(report)
    report.raise_for_failures()
