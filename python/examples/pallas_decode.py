#!/usr/bin/env python3
"""A paged decode kernel in Pallas, interpreted on a CPU: one program for each sequence and query
head, over the blocks of the sequence.

    python pallas_decode.py
"""

import functools
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402

import recto  # noqa: E402

# Each shape is traced anew, so there are few cases.
CASES = dict(types=["fp32", "bf16"], layouts=["token-major"], equal_head_dims=True, cases=8, seed=1,
             without=["alibi", "sinks", "softcap"], laws=["oracle"], kinds=["small", "model"],
             context_max=64, sequences_max=4, q_heads_max=8)


def kernel(table_ref, length_ref, q_ref, k_ref, v_ref, out_ref, lse_ln_ref, *, scale, window,
           group, block_size):
    row, head = pl.program_id(0), pl.program_id(1)
    length = length_ref[row]
    query = q_ref[row, head].astype(jnp.float32)

    def step(index, state):
        largest, total, result = state
        block = table_ref[row, index]
        keys = index * block_size + jnp.arange(block_size)
        is_seen = (keys < length) & (keys > length - 1 - window)
        # What is not seen may be NaN, and NaN times 0 is NaN.
        k, v = (jnp.where(is_seen[:, None], ref[block, :, head // group].astype(jnp.float32), 0)
                for ref in (k_ref, v_ref))
        scores = jnp.where(is_seen, scale * jnp.sum(k * query, axis=1), -jnp.inf)
        top = jnp.maximum(largest, jnp.max(scores))
        safe = jnp.where(jnp.isneginf(top), 0.0, top)
        weights, factor = jnp.exp(scores - safe), jnp.exp(largest - safe)
        return (top, total * factor + jnp.sum(weights),
                result * factor + jnp.sum(weights[:, None] * v, axis=0))

    begin = (jnp.float32(-jnp.inf), jnp.float32(0), jnp.zeros(v_ref.shape[3], jnp.float32))
    largest, total, result = jax.lax.fori_loop(0, pl.cdiv(length, block_size), step, begin)
    is_empty = total == 0
    total = jnp.where(is_empty, 1.0, total)
    out_ref[row, head] = jnp.where(is_empty, 0.0, result / total).astype(out_ref.dtype)
    lse_ln_ref[row, head] = jnp.where(is_empty, -jnp.inf, largest + jnp.log(total))


def attention(call):
    q, k, v, table, lengths = (
        jnp.array(each)  # a copy: JAX has no arrays with gaps, and keeps its own beyond the call
        for each in (call.q, call.k_cache, call.v_cache, call.block_table, call.context_length)
    )
    window = call.window or call.max_context_length + 1
    run = pl.pallas_call(
        functools.partial(kernel, scale=call.scale, window=window, block_size=call.block_size,
                          group=call.num_q_heads // call.num_kv_heads),
        grid=(call.num_seqs, call.num_q_heads), interpret=True,
        out_shape=(jax.ShapeDtypeStruct(q.shape, q.dtype),
                   jax.ShapeDtypeStruct(q.shape[:2], jnp.float32)),
    )
    out, lse_ln = run(table, lengths, q, k, v)
    return np.asarray(out.astype(jnp.float32)), np.asarray(lse_ln)


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
