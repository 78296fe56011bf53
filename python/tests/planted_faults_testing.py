"""The canaries of verify/qa in NumPy: wrong attentions, each with one fault. Those of strides and
packs are views of the caches' memory with others, as kernels have them that get pointers."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from recto import _types

TILE, PART = 16, 32  # keys
USUAL_PACK = 8  # elements: that of fp16

FAULTS = (
    "window off by one", "top-left causal mask", "soft cap after the mask", "missing rescale",
    "wrong group mapping", "sink left out of the denominator's log", "last key dropped",
    "tail of the last block read", "log in base 2", "scale applied twice", "sign of the bias",
    "merge without weights", "blocks taken for consecutive", "block table without stride",
    "slot by a mask", "V by the strides of K", "pack width of fp16", "fp8 scale left out",
    "fp8 scale of the first head",
)


def attention(call, fault=""):
    """out and lse_ln, in fp64, by an online softmax over tiles. Right without a fault."""
    out = np.zeros((call.num_query_rows, call.num_q_heads, call.head_dim_v))
    lse_ln = np.full((call.num_query_rows, call.num_q_heads), -np.inf)
    queries = call.float32("q").astype(np.float64)
    pools = {name: _by_token(_numbers(call, name, fault), call.layout)[..., :dim]
             for name, dim in (("k_cache", call.head_dim_k), ("v_cache", call.head_dim_v))}
    starts = call.query_start.tolist()
    for s, n in enumerate(call.context_length.tolist()):
        rows = slice(starts[s], starts[s + 1])
        k, v = (_read(call, pools[name], s, fault) * _factors(getattr(call, scale), fault)
                for name, scale in (("k_cache", "k_scale"), ("v_cache", "v_scale")))
        scores = _scores(call, queries[rows], k, n, fault)
        for head in range(call.num_q_heads):
            sink = -np.inf if call.sinks is None else float(call.sinks[head])
            values = v[:, _kv_head(call, head, fault)]
            for r in range(rows.stop - rows.start):
                out[starts[s] + r, head], lse_ln[starts[s] + r, head] = _row(
                    scores[r, head], values, sink, fault)
    return out, lse_ln


def _numbers(call, name, fault):
    """A cache in fp32."""
    cache = getattr(call, name)
    if fault == "V by the strides of K" and name == "v_cache":
        cache = as_strided(cache, strides=call.k_cache.strides[: cache.ndim], writeable=False)
    elif fault == "pack width of fp16" and cache.ndim == 5:
        packs = -(-call.head_dim_k // USUAL_PACK)
        shape = (*cache.shape[:2], packs, cache.shape[3], USUAL_PACK)
        cache = as_strided(cache, shape, writeable=False)
    else:
        return call.float32(name)
    return _types.to_float32(cache, call.kv_type)


def _by_token(cache, layout):
    """[num_blocks, block_size, num_kv_heads, head_dim], in fp64."""
    order = {"token-major": (0, 1, 2, 3), "head-major": (0, 2, 1, 3),
             "packed": (0, 3, 1, 2, 4)[: cache.ndim]}[layout]
    moved = cache.transpose(order).astype(np.float64)
    return moved.reshape(*moved.shape[:3], np.prod(moved.shape[3:], dtype=int))


def _kv_head(call, head, fault):
    if fault == "wrong group mapping":
        return head % call.num_kv_heads
    return head // (call.num_q_heads // call.num_kv_heads)


def _factors(scale, fault):
    """The factors of codes: one number, or [num_kv_heads, 1]."""
    if scale is None or fault == "fp8 scale left out":
        return 1.0
    factors = np.asarray(scale, np.float64)
    return factors[0] if fault == "fp8 scale of the first head" else factors[:, None]


def _read(call, pool, sequence, fault):
    """Codes of K or V of a context: [keys, num_kv_heads, head_dim]."""
    size, length = call.block_size, int(call.context_length[sequence])
    count = -(-length // size) * size if fault == "tail of the last block read" else length
    tokens = np.arange(count)
    table = np.asarray(call.block_table)
    if fault == "block table without stride":
        table = as_strided(table, strides=(table.shape[1] * table.itemsize, table.itemsize))
    table = table[sequence]
    blocks = table[tokens // size]
    if fault == "blocks taken for consecutive" and count:
        blocks = (table[0] + tokens // size) % call.num_blocks
    slots = tokens & (size - 1) if fault == "slot by a mask" else tokens % size
    return pool[blocks, slots]


def _scores(call, q, k, length, fault):
    """[rows, num_q_heads, keys]; -inf: not visible."""
    rows, keys = len(q), len(k)
    i = np.arange(length - rows, length)[:, None, None]
    r, j = np.arange(rows)[:, None, None], np.arange(keys)
    heads = [_kv_head(call, head, fault) for head in range(call.num_q_heads)]
    with np.errstate(all="ignore"):
        scores = call.scale * np.einsum("rhd,jhd->rhj", q, k[:, heads])
    scores = scores * (call.scale if fault == "scale applied twice" else 1)
    place = r if fault == "top-left causal mask" else i
    seen = (j <= place) | (j >= length) if call.causal else np.ones((1, 1, keys), bool)
    if call.window is not None:
        seen = seen & (j > i - call.window + (fault == "window off by one"))
    if fault == "last key dropped":
        seen = seen & (j != length - 1)
    masks_first = fault == "soft cap after the mask"
    scores = np.where(seen, scores, -np.inf) if masks_first else scores
    if call.softcap:
        scores = call.softcap * np.tanh(scores / call.softcap)
    if call.alibi_slopes is not None:
        sign = -1 if fault == "sign of the bias" else 1
        scores = scores + sign * np.asarray(call.alibi_slopes, np.float64)[:, None] * (j - i)
    return scores if masks_first else np.where(seen, scores, -np.inf)


def _row(scores, values, sink, fault):
    """out [head_dim_v] and lse_ln of one row of one head."""
    size = PART if fault == "merge without weights" else max(1, len(scores))
    parts = [_part(scores[begin : begin + size], values[begin : begin + size], fault)
             for begin in range(0, len(scores), size)]
    parts = [part for part in parts if part[1] > 0]
    none = np.zeros(values.shape[1])
    if not parts:
        return none, sink
    top = max(sink, *(largest for largest, _, _ in parts))
    keys = sum(total * np.exp(largest - top) for largest, total, _ in parts)
    total = keys + np.exp(sink - top)
    if fault == "merge without weights":
        out = sum(weighted / part for _, part, weighted in parts) / len(parts) * keys / total
    else:
        out = sum(weighted * np.exp(largest - top) for largest, _, weighted in parts) / total
    lse_ln = top + np.log(keys if fault == "sink left out of the denominator's log" else total)
    return out, lse_ln / np.log(2) if fault == "log in base 2" else lse_ln


def _part(scores, values, fault):
    """Largest score, sum of weights and weighted sum of values."""
    largest, total, weighted = -np.inf, 0.0, np.zeros(values.shape[1])
    for begin in range(0, len(scores), TILE):
        tile = scores[begin : begin + TILE]
        top = max(largest, np.max(tile))
        if np.isneginf(top):
            continue
        factor = 1 if fault == "missing rescale" else np.exp(largest - top)
        weights = np.exp(tile - top)
        used = ~(weights == 0)  # a slot that is not attended to may hold NaN
        total = total * factor + weights.sum()
        weighted = weighted * factor + weights[used] @ values[begin : begin + TILE][used]
        largest = top
    return largest, total, weighted
