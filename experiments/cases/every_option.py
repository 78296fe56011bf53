#!/usr/bin/env python3
"""Answers the cases of `recto cases` in NumPy: every option, any number of rows, the three layouts.

    every_option.py DIR

The programs of docs/python.md are shorter, because they support only what most kernels support.
"""

import glob
import sys

import numpy as np

FP8 = {"e4m3": (3, 7, 0x7E), "e5m2": (2, 15, 0x7B)}  # fraction, bias, largest finite code


def fp8_values(kind):  # the values of all 256 codes
    bits, bias, largest = FP8[kind]
    code = np.arange(128)
    exponent, fraction = code >> bits, code % 2**bits
    value = np.ldexp(fraction + 2.0**bits * (exponent > 0),
                     np.maximum(exponent, 1) - bias - bits)
    value[largest + 1 :] = np.nan
    value[largest + 1] = np.inf if kind == "e5m2" else np.nan
    return np.concatenate([value, -value]).astype("f4")


def numbers(codes, kind):
    if str(kind) in FP8:
        return fp8_values(str(kind))[codes]
    return (codes.astype("u4") << 16).view("f4") if kind == "bf16" else codes.astype("f4")


def fp8_codes(values, kind):  # to nearest even, saturated
    finite = fp8_values(kind)[: FP8[kind][2] + 1]
    size = np.abs(values)
    above = np.searchsorted(finite, size).clip(1, len(finite) - 1)
    below, up, down = above - 1, finite[above] - size, size - finite[above - 1]
    nearest = np.where((down < up) | ((down == up) & (below % 2 == 0)), below, above)
    return (nearest + 128 * np.signbit(values)).astype("u1")


def new_codes(case, name):
    new, kind = case["new_" + name], str(case["kv_type"])
    if kind not in FP8:
        return new
    return fp8_codes(numbers(new, case["q_type"]) / case[name + "_scale"][:, None], kind)


def pool(case, name):  # converted to token-major
    codes = numbers(case[name + "_cache"], case["kv_type"])
    if case["layout"] == "head-major":
        codes = codes.transpose(0, 2, 1, 3)
    if case["layout"] == "packed" and codes.ndim == 5:
        codes = codes.transpose(0, 1, 2, 4, 3)
        codes = codes.reshape(*codes.shape[:2], -1, codes.shape[4])
    if case["layout"] == "packed":
        codes = codes.transpose(0, 3, 1, 2)
    return codes * case[name + "_scale"][:, None]


def attention(case):
    k, v, size = pool(case, "k"), pool(case, "v"), int(case["block_size"])
    q = numbers(case["q"], case["q_type"])
    group = q.shape[1] // k.shape[2]
    out = np.zeros((*q.shape[:2], v.shape[3]), "f4")
    lse_ln = np.zeros(q.shape[:2], "f4")
    slopes, sinks = case["alibi_slopes"][:, None, None], case["sinks"][:, None]
    for s, n in enumerate(case["context_length"]):
        first, end = case["query_start"][s : s + 2]
        j, i = np.arange(n), (n - (end - first) + np.arange(end - first))[:, None]
        slots = case["block_table"][s][j // size], j % size
        keys, values = (x[slots].repeat(group, 1) for x in (k, v))
        scores = case["scale"] * np.einsum("rhd,jhd->hrj", q[first:end], keys)
        if case["softcap"] > 0:
            scores = case["softcap"] * np.tanh(scores / case["softcap"])
        seen = (j <= i) if case["causal"] else np.full((end - first, n), True)
        if case["window"] > 0:
            seen = seen & (i - case["window"] < j)
        scores = np.where(seen, scores + slopes * (j - i), -np.inf).astype("f4")
        top = np.maximum(scores.max(-1, initial=-1e30), sinks)
        weights = np.exp(scores - top[..., None])
        total = weights.sum(-1) + np.exp(sinks - top)
        with np.errstate(divide="ignore"):
            lse_ln[first:end] = (np.log(total) + top).T
        weights /= np.maximum(total, 1e-30)[..., None]
        out[first:end] = np.einsum("hrj,jhd->rhd", weights, values)
    return out, lse_ln


for path in glob.glob(glob.escape(sys.argv[1]) + "/*fill-*[0-9].npz"):
    out, lse_ln = attention(np.load(path))
    np.savez_compressed(path[: -len("npz")] + "out.npz", out=out, lse_ln=lse_ln)
for path in glob.glob(glob.escape(sys.argv[1]) + "/kv_write-*[0-9].npz"):
    case = dict(np.load(path))
    there = case["slot_mapping"] >= 0
    block, offset = np.divmod(case["slot_mapping"][there], case["block_size"])
    for name in ("k", "v"):
        case[name + "_cache"][block, offset] = new_codes(case, name)[there]
    answer = {name: case[name] for name in ("k_cache", "v_cache")}
    np.savez(path[: -len("npz")] + "out.npz", **answer)
