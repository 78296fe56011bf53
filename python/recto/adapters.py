"""The argument lists of engines, over a call: each adapter makes a function for `recto.verify` of
one that takes the arguments of that engine's kernels.

>>> recto.verify(decode=recto.adapters.flash_attn_with_kvcache(my_kernel), types=["fp16"])

The kernel is called with keyword arguments, and returns `out` or `(out, lse_ln)`. Arrays are
NumPy's; with `tensors=True` they are torch tensors over the same memory, and with `device` copies
on that device, such as "cuda", where results may be, too. A call that the engine cannot have is
skipped, with the reason.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Optional

import numpy as np

from . import _types
from ._call import AttentionCall, Call, KvWriteCall
from ._errors import Unsupported
from ._filters import LAYOUTS

Kernel = Callable[..., Any]
Adapted = Callable[[Any], Any]


def vllm(
    kernel: Kernel, *, layout: str = "NHD", tensors: bool = False, device: Any = None
) -> Adapted:
    """vLLM. `layout`: "NHD" (v1), "HND" or "v0" (packed).

    The kernel gets query [num_tokens, num_q_heads, head_dim], key_cache and value_cache in the
    layout, block_table [num_seqs, max_blocks], seq_lens [num_seqs], query_start_loc [num_seqs + 1],
    max_query_len, max_seq_len, scale, causal, sliding_window (window_left, -1: none),
    logits_soft_cap, alibi_slopes, sinks, k_scale and v_scale. As `kv_write`: key and value
    [num_tokens, num_kv_heads, head_dim], key_cache, value_cache, slot_mapping [num_tokens], k_scale
    and v_scale.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout: expected NHD, HND or v0, got {layout!r}")

    def adapted(call: Call) -> Any:
        _expect_layout(call, LAYOUTS[layout])
        of = _arguments(call, tensors, device)
        common = dict(key_cache=of.k_cache, value_cache=of.v_cache, k_scale=of.k_scale,
                      v_scale=of.v_scale)
        if isinstance(call, KvWriteCall):
            result = kernel(key=of.new_k, value=of.new_v, slot_mapping=of.slot_mapping, **common)
            if device is not None:
                on_host = call.torch()
                on_host.k_cache.copy_(of.k_cache)
                on_host.v_cache.copy_(of.v_cache)
            return result
        assert isinstance(call, AttentionCall)
        return kernel(
            query=of.q, block_table=of.block_table, seq_lens=of.context_length,
            max_query_len=call.max_query_length, max_seq_len=call.max_context_length,
            scale=call.scale, causal=call.causal, sliding_window=_window_left(call),
            logits_soft_cap=call.softcap, alibi_slopes=of.alibi_slopes, sinks=of.sinks, **common,
            **_as_given({"query_start_loc": call.query_start}, tensors, device),
        )

    return adapted


def flash_attn_with_kvcache(
    kernel: Kernel, *, appends: bool = False, tensors: bool = False, device: Any = None
) -> Adapted:
    """FlashAttention's `flash_attn_with_kvcache`, with a paged cache.

    The kernel gets q [batch, seqlen_q, num_q_heads, head_dim], k_cache and v_cache [num_blocks,
    block_size, num_kv_heads, head_dim], cache_seqlens [batch], block_table, softmax_scale, causal,
    window_size (left, right), softcap and alibi_slopes, and returns out in q's shape, or (out,
    lse_ln [batch, num_q_heads, seqlen_q]). With `appends`, it also gets k and v [batch, seqlen_q,
    num_kv_heads, head_dim], and cache_seqlens does not count them.
    """

    def adapted(call: AttentionCall) -> Any:
        _expect_layout(call, "token-major")
        _expect_none(call, "sinks", "k_scale", "v_scale")
        rows = _rows_each(call)
        of = _arguments(call, tensors, device)
        given = dict(k_cache=of.k_cache, v_cache=of.v_cache, cache_seqlens=of.context_length)
        if appends:
            new = call.split_new_tokens()
            given = _as_given(
                {"k": new.k.reshape(call.num_seqs, rows, *new.k.shape[1:]),
                 "v": new.v.reshape(call.num_seqs, rows, *new.v.shape[1:]), "k_cache": new.k_cache,
                 "v_cache": new.v_cache, "cache_seqlens": new.cached_length},
                tensors, device, call.kv_type,
            )
        return _flattened(kernel(
            q=of.q.reshape(call.num_seqs, rows, *of.q.shape[1:]), block_table=of.block_table,
            softmax_scale=call.scale, causal=call.causal,
            window_size=(_window_left(call), 0 if call.causal else -1), softcap=call.softcap,
            alibi_slopes=of.alibi_slopes, **given,
        ), call)

    return adapted


def flashinfer(
    kernel: Kernel, *, layout: str = "NHD", tensors: bool = False, device: Any = None
) -> Adapted:
    """FlashInfer's paged wrappers. `layout`: "NHD" or "HND".

    The kernel gets q [num_query_rows, num_q_heads, head_dim], paged_kv_cache (K, V) in the layout,
    qo_indptr [num_seqs + 1], paged_kv_indptr [num_seqs + 1], paged_kv_indices [blocks of all
    sequences], paged_kv_last_page_len [num_seqs] (of an empty sequence 0), sm_scale, causal,
    window_left (-1: none) and logits_soft_cap. An lse must be a natural logarithm:
    FlashInfer's has base 2, so multiply it by ln 2.
    """
    if layout not in ("NHD", "HND"):
        raise ValueError(f"layout: expected NHD or HND, got {layout!r}")

    def adapted(call: AttentionCall) -> Any:
        _expect_layout(call, LAYOUTS[layout])
        _expect_none(call, "sinks", "alibi_slopes", "k_scale", "v_scale")
        lengths = np.asarray(call.context_length)
        blocks = -(-lengths // call.block_size)
        lists = {
            "qo_indptr": call.query_start, "paged_kv_indptr": _indptr(blocks),
            "paged_kv_indices": _joined(
                call.block_table[s, :count] for s, count in enumerate(blocks.tolist())),
            "paged_kv_last_page_len": (
                lengths - np.maximum(blocks - 1, 0) * call.block_size
            ).astype(np.int32),
        }
        of = _arguments(call, tensors, device)
        return kernel(
            q=of.q, paged_kv_cache=(of.k_cache, of.v_cache), sm_scale=call.scale,
            causal=call.causal, window_left=_window_left(call), logits_soft_cap=call.softcap,
            **_as_given(lists, tensors, device),
        )

    return adapted


def sglang(kernel: Kernel, *, tensors: bool = False, device: Any = None) -> Adapted:
    """SGLang's token pool: a cache of single slots.

    The kernel gets q [num_query_rows, num_q_heads, head_dim], k_buffer and v_buffer [num_slots,
    num_kv_heads, head_dim], kv_indptr [num_seqs + 1], kv_indices [tokens of all sequences] (slots),
    qo_indptr [num_seqs + 1], sm_scale, causal, sliding_window_size (-1: none) and logit_cap. A
    cache of larger blocks is passed as its slots.
    """

    def adapted(call: AttentionCall) -> Any:
        _expect_layout(call, "token-major")
        _expect_none(call, "alibi_slopes", "sinks", "k_scale", "v_scale")
        at = [call.slots(s) for s in range(call.num_seqs)]
        lists = {
            "qo_indptr": call.query_start, "kv_indptr": _indptr(call.context_length),
            "kv_indices": _joined(block * call.block_size + offset for block, offset in at),
        }
        of = _arguments(call, tensors, device)
        return kernel(
            q=of.q, k_buffer=_slots(of.k_cache), v_buffer=_slots(of.v_cache), sm_scale=call.scale,
            causal=call.causal, sliding_window_size=_window_left(call), logit_cap=call.softcap,
            **_as_given(lists, tensors, device),
        )

    return adapted


def padded(kernel: Kernel, *, tensors: bool = False, device: Any = None) -> Adapted:
    """A dense batch, for attention without paging: torch's scaled_dot_product_attention and others.

    The kernel gets q [num_seqs, num_q_heads, most rows, head_dim], k and v [num_seqs, num_kv_heads,
    longest context, head_dim] in fp32, q_lengths and kv_lengths [num_seqs], mask [num_seqs, 1 or
    num_q_heads, most rows, longest context] (bool: visible; False in padding) and bias (ALiBi, in
    fp32, [num_seqs, num_q_heads, most rows, longest context], or None), scale and softcap, and
    returns out in q's shape. Rows and keys that pad are zeros.
    """

    def adapted(call: AttentionCall) -> Any:
        _expect_none(call, "sinks")
        batch = _as_given(_dense_batch(call), tensors, device)
        out = _types.array_of(kernel(scale=call.scale, softcap=call.softcap, **batch))
        starts = call.query_start.tolist()
        rows = [out[s, :, : starts[s + 1] - starts[s]].swapaxes(0, 1) for s in range(call.num_seqs)]
        empty = np.zeros((0, call.num_q_heads, call.head_dim_v), out.dtype)
        return np.ascontiguousarray(np.concatenate([empty, *rows]))

    return adapted


def _dense_batch(call: AttentionCall) -> Dict[str, Optional[Any]]:
    starts, lengths = call.query_start.tolist(), call.context_length.tolist()
    rows_max, keys_max = max(1, call.max_query_length), max(1, call.max_context_length)
    seqs, heads, kv_heads = call.num_seqs, call.num_q_heads, call.num_kv_heads
    q = np.zeros((seqs, heads, rows_max, call.head_dim_k), np.float32)
    k = np.zeros((seqs, kv_heads, keys_max, call.head_dim_k), np.float32)
    v = np.zeros((seqs, kv_heads, keys_max, call.head_dim_v), np.float32)
    mask = np.zeros((seqs, 1, rows_max, keys_max), bool)
    distance = np.zeros((seqs, 1, rows_max, keys_max), np.float32)
    queries = call.float32("q")
    for s, length in enumerate(lengths):
        rows = starts[s + 1] - starts[s]
        q[s, :, :rows] = queries[starts[s] : starts[s + 1]].swapaxes(0, 1)
        keys, values = call.gather(s)
        k[s, :, :length], v[s, :, :length] = keys.swapaxes(0, 1), values.swapaxes(0, 1)
        i, j = np.arange(length - rows, length)[:, None], np.arange(length)
        visible = np.ones((rows, length), bool)
        if call.causal:
            visible &= j <= i
        if call.window is not None:
            visible &= i - call.window < j
        mask[s, 0, :rows, :length] = visible
        distance[s, 0, :rows, :length] = j - i
    slopes = call.alibi_slopes
    bias = None if slopes is None else distance * np.asarray(slopes)[:, None, None]
    return {
        "q": q, "k": k, "v": v, "mask": mask, "bias": bias,
        "q_lengths": np.diff(call.query_start), "kv_lengths": np.array(call.context_length),
    }


def _expect_layout(call: Call, layout: str) -> None:
    if call.layout != layout:
        raise Unsupported(f"the layout {call.layout}")


def _expect_none(call: Call, *names: str) -> None:
    for name in names:
        if name in call.arguments:
            raise Unsupported(name)


def _arguments(call: Call, tensors: bool, device: Any) -> Any:
    return call.torch(device) if tensors or device is not None else call


def _window_left(call: AttentionCall) -> int:
    """Keys before the row's own that it sees; -1: all."""
    return -1 if call.window is None else call.window - 1


def _rows_each(call: AttentionCall) -> int:
    rows = np.unique(np.diff(call.query_start))
    if len(rows) > 1:
        raise Unsupported("sequences with different numbers of rows")
    return int(rows[0]) if len(rows) else 1


def _flattened(result: Any, call: AttentionCall) -> Any:
    out, lse_ln = result if isinstance(result, (tuple, list)) else (result, None)
    if out is None:
        return out
    flat = out.reshape(call.num_query_rows, *out.shape[2:])
    if lse_ln is None:
        return flat
    moved = _types.array_of(lse_ln).swapaxes(1, 2).reshape(call.num_query_rows, call.num_q_heads)
    return flat, np.ascontiguousarray(moved)


def _slots(cache: Any) -> Any:
    """[num_blocks, block_size, ...] as [num_slots, ...]; a copy only where blocks have gaps."""
    return cache.reshape(cache.shape[0] * cache.shape[1], *cache.shape[2:])


def _indptr(counts: Any) -> Any:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _joined(parts: Iterable[Any]) -> Any:
    return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32)


def _as_given(
    arrays: Dict[str, Any], tensors: bool, device: Any, kv_type: str = ""
) -> Dict[str, Any]:
    """As tensors or on the device, if so; those of numbers are of `kv_type`."""
    if not tensors and device is None:
        return arrays

    def tensor(array: Any) -> Any:
        made = _types.tensor_of(array, "int32" if array.dtype.kind == "i" else kv_type)
        return made if device is None else made.to(device)

    return {name: None if array is None else tensor(array) for name, array in arrays.items()}
