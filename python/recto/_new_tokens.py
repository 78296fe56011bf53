"""The tokens of a call's query rows, taken out of its cache."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

import numpy as np

from ._call import Unsupported
from ._layouts import set_nan


class NewTokens(NamedTuple):
    """The tokens of the query rows, taken out of the cache, for functions that append them."""

    k: "np.ndarray[Any, Any]"  #: [num_query_rows, num_kv_heads, head_dim_k], of the cache's type
    v: "np.ndarray[Any, Any]"  #: [num_query_rows, num_kv_heads, head_dim_v]
    #: [num_query_rows], block * block_size + offset
    slot_mapping: "np.ndarray[Any, np.dtype[np.int64]]"
    cached_length: "np.ndarray[Any, np.dtype[np.int32]]"  #: [num_seqs], without the new tokens
    k_cache: "np.ndarray[Any, Any]"  #: a copy, with NaN in the new tokens' slots
    v_cache: "np.ndarray[Any, Any]"


def split_new_tokens(call: Any) -> NewTokens:
    """Of an `AttentionCall` or a `Case`; see `AttentionCall.split_new_tokens`."""
    starts, lengths = call.query_start.tolist(), call.context_length.tolist()
    slots, cached = [], []
    for s, length in enumerate(lengths):
        rows = starts[s + 1] - starts[s]
        if rows > length:
            raise Unsupported("rows beyond their context have no token to append")
        positions = np.arange(length - rows, length)
        blocks = call.block_table[s][positions // call.block_size].astype(np.int64)
        slots.append(blocks * call.block_size + positions % call.block_size)
        cached.append(length - rows)
    mapping = np.concatenate(slots) if slots else np.zeros(0, np.int64)
    if len(np.unique(mapping)) < len(mapping):
        raise Unsupported("sequences share the block of a new token")
    at = mapping // call.block_size, mapping % call.block_size
    parts: Dict[str, Any] = {}
    for name, short in (("k_cache", "k"), ("v_cache", "v")):
        parts[short] = np.ascontiguousarray(call.cache_by_token(name)[at])
        parts[name] = np.array(getattr(call, name))
        set_nan(parts[name], call.layout, short == "k", at, call.kv_type)
    return NewTokens(
        parts["k"], parts["v"], mapping, np.asarray(cached, np.int32), parts["k_cache"],
        parts["v_cache"],
    )
