"""Right functions in NumPy, and the same with planted faults."""

import numpy as np

from recto import _types as types


def attention(call, **faults):
    """Attention of any number of rows, by the definition. Faults: window_off, mask_off; softcap and
    sinks, if they are left out; products, the type that each product with V is rounded to."""
    window_off, mask_off = faults.get("window_off", 0), faults.get("mask_off", 0)
    group = call.num_q_heads // call.num_kv_heads
    q = call.float32("q").astype(np.float64)
    out = np.zeros((call.num_query_rows, call.num_q_heads, call.head_dim_v))
    lse_ln = np.full((call.num_query_rows, call.num_q_heads), -np.inf)
    starts = call.query_start.tolist()
    for s, n in enumerate(call.context_length.tolist()):
        m = starts[s + 1] - starts[s]
        rows = slice(starts[s], starts[s + 1])
        k, v = (np.repeat(each.astype(np.float64), group, 1) for each in call.gather(s))
        i, j = np.arange(n - m, n)[:, None, None], np.arange(n)
        scores = float(call.scale) * np.einsum("rhd,jhd->rhj", q[rows], k)
        if call.softcap and faults.get("softcap", True):
            scores = call.softcap * np.tanh(scores / call.softcap)
        if call.alibi_slopes is not None:
            scores = scores + np.asarray(call.alibi_slopes)[:, None] * (j - i)
        seen = np.broadcast_to(j <= i + mask_off if call.causal else True, scores.shape)
        if call.window is not None:
            seen = seen & (i - call.window - window_off < j)
        scores = np.where(seen, scores, -np.inf)
        sink = np.full(call.num_q_heads, -np.inf)
        if call.sinks is not None and faults.get("sinks", True):
            sink = np.asarray(call.sinks, np.float64)
        top = np.maximum(scores.max(-1, initial=-np.inf), sink)
        top = np.where(np.isfinite(top), top, 0.0)
        weights = np.exp(scores - top[..., None])
        total = weights.sum(-1) + np.exp(sink - top)
        with np.errstate(divide="ignore"):
            lse_ln[rows] = top + np.log(total)
        with np.errstate(invalid="ignore"):
            weights = weights / np.where(total > 0, total, 1.0)[..., None]
        # Masked values may be NaN.
        for r, h in np.ndindex(weights.shape[:2]):
            used = weights[r, h] > 0
            products = weights[r, h, used, None] * v[used, h]
            if "products" in faults:
                codes = types.rounded_codes(products, faults["products"])
                products = types.to_float32(codes, faults["products"])
            out[starts[s] + r, h] = products.sum(0)
    return out, lse_ln


def without_lse_ln(call):
    return attention(call)[0]


def too_wide(call):
    """The window is one key too wide."""
    return attention(call, window_off=1)


def kv_write(call):
    for new, cache, scale, name in (
        (call.new_k, call.k_cache, call.k_scale, "k"),
        (call.new_v, call.v_cache, call.v_scale, "v"),
    ):
        numbers = types.to_float32(np.ascontiguousarray(new), call.q_type)
        if call.kv_type == call.q_type:
            codes = np.ascontiguousarray(new).view(types.code_type(call.kv_type))
        else:
            if scale is not None:
                numbers = numbers / scale[:, None]
            codes = fp8_codes(numbers, call.kv_type)
        store = cache.view(types.code_type(call.kv_type))
        for token, slot in enumerate(call.slot_mapping.tolist()):
            if slot < 0:
                continue
            block, at = divmod(slot, call.block_size)
            if call.layout == "token-major":
                store[block, at] = codes[token]
            elif call.layout == "head-major":
                store[block, :, at] = codes[token]
            elif name == "k":
                store[block, :, :, at] = codes[token].reshape(*store.shape[1:3], store.shape[4])
            else:
                store[block, :, :, at] = codes[token]


def fp8_codes(numbers, kind):
    """Rounded to nearest even, saturated; NaN stays NaN."""
    values = types.to_float32(np.arange(256, dtype=np.uint8), kind).astype(np.float64)
    finite = np.flatnonzero(np.isfinite(values[:128]))
    grid = values[finite]
    size = np.abs(numbers.astype(np.float64))
    above = np.searchsorted(grid, size).clip(1, len(grid) - 1)
    below = above - 1
    middle = (grid[below] + grid[above]) / 2
    up = (size > middle) | ((size == middle) & (below % 2 == 1))
    codes = np.where(up, above, below)
    codes = np.where(np.isnan(numbers), 0x7F, codes)
    return (codes | np.where(np.signbit(numbers), 0x80, 0)).astype(np.uint8)
