#!/usr/bin/env python3
"""First steps, with NumPy alone: a decode kernel whose window is one key too wide is found, shrunk,
explained and replayed; the right one passes. Prints the times.

    python first_steps.py
"""

import time

import numpy as np

import recto

CASES = dict(types=["fp16", "bf16"], without=["alibi", "sinks"], cases=60, seed=1,
             context_max=500, sequences_max=16, q_heads_max=32)


def attention(call, wider=0):
    """Decode by gathering each sequence's context: [num_seqs, num_q_heads, head_dim_v]."""
    out = np.zeros((call.num_query_rows, call.num_q_heads, call.head_dim_v))
    q = call.float32("q").reshape(call.num_query_rows, call.num_kv_heads, -1, call.head_dim_k)
    for s, length in enumerate(call.context_length.tolist()):
        if length == 0:
            continue  # no key is seen: the result is 0
        k, v = call.gather(s)
        begin = 0 if call.window is None else max(0, length - call.window - wider)
        scores = call.scale * np.einsum("kgd,jkd->kgj", q[s], k[begin:])
        if call.softcap:
            scores = call.softcap * np.tanh(scores / call.softcap)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        out[s] = np.einsum("kgj,jkd->kgd", p, v[begin:]).reshape(call.num_q_heads, -1)
    return out


def wrong(call):
    return attention(call, wider=1)


def main():
    begin = time.perf_counter()
    with np.errstate(invalid="ignore"):  # the wrong kernel reads keys that it must not
        report = recto.verify(decode=wrong, fail_fast=True, **CASES)
        failure = report.failures[0]
        replayed = recto.replay(failure.file, decode=wrong)
    print(failure)
    print(f"found, shrunk and explained in {time.perf_counter() - begin:.1f} s")
    assert not replayed.passed
    assert "the window is one key too wide" in replayed.text

    recto.replay(failure.file, decode=attention).raise_for_failures()
    begin = time.perf_counter()
    report = recto.verify(decode=attention, **CASES)
    report.raise_for_failures()
    print(f"the right kernel passed {report.checks} checks in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
