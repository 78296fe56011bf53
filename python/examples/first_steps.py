#!/usr/bin/env python3
"""First steps, with NumPy alone: a decode kernel whose window is one key too wide is found, shrunk,
explained and replayed; the right one passes. Prints the times.

    python first_steps.py [wrong|right]
"""

import sys
import time

import numpy as np

import recto

CASES = dict(types=["fp16", "bf16"], head_dims=[64, 128], layouts=["token-major"], block_sizes=[16],
             without=["alibi", "sinks"], cases=120, seed=1)


def attention(call, wider=0):
    """Decode by gathering each sequence's context: [num_seqs, num_q_heads, head_dim_v]."""
    out = np.zeros((call.num_query_rows, call.num_q_heads, call.head_dim_v), np.float32)
    group = call.num_q_heads // call.num_kv_heads
    q = call.float32("q").reshape(call.num_query_rows, call.num_kv_heads, group, call.head_dim_k)
    for s, length in enumerate(call.context_length.tolist()):
        if length == 0:
            continue  # no key is seen: the result is 0
        begin = 0 if call.window is None else max(0, length - call.window - wider)
        k, v = (each[begin:].swapaxes(0, 1) for each in call.gather(s))  # [KV heads, keys, dim]
        scores = call.scale * (q[s] @ k.swapaxes(1, 2))
        if call.softcap:
            scores = call.softcap * np.tanh(scores / call.softcap)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        out[s] = (p @ v).reshape(call.num_q_heads, call.head_dim_v)
    return out


def one_key_too_wide(call):
    with np.errstate(invalid="ignore"):  # it reads keys that it must not
        return attention(call, wider=1)


def wrong():
    begin = time.perf_counter()
    report = recto.verify(decode=one_key_too_wide, **CASES)
    smallest = report.minimize()
    replayed = recto.replay(smallest.file, decode=one_key_too_wide)
    print(smallest)
    print(f"found, shrunk and explained in {time.perf_counter() - begin:.1f} s: "
          f"{report.failed} of {report.checks} checks failed")
    assert not replayed.passed
    assert "the window is one key too wide" in replayed.text
    recto.replay(smallest.file, decode=attention).raise_for_failures()


def right():
    begin = time.perf_counter()
    report = recto.verify(decode=attention, **{**CASES, "cases": 40})
    report.raise_for_failures()
    print(f"the right kernel passed {report.checks} checks in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("wrong", "right"):
        {"wrong": wrong, "right": right}[name]()
