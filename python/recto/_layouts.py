"""Where the parts of a call lie, in each layout; what calls and cases know of their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Tuple

import numpy as np

from . import _structs, _types
from ._errors import Unsupported
from ._memory import Place

if TYPE_CHECKING:
    AnyArray = np.ndarray[Any, Any]
    FloatArray = np.ndarray[Any, np.dtype[np.float32]]
    Slots = Tuple[AnyArray, AnyArray]  # blocks, and offsets in them


def rows_place(rows: _structs.Rows, is_written: bool = False) -> Place:
    return Place(
        rows.data, _types.TYPE_NAMES[rows.type], (rows.num_rows, rows.num_heads, rows.head_dim),
        (rows.row_stride, rows.head_stride, 1), is_written,
    )


def cache_place(cache: _structs.KvTensor, is_written: bool = False) -> Place:
    """In the layout's own order of dimensions."""
    layout = _structs.LAYOUTS[cache.layout]
    sizes = {"block": (cache.num_blocks, cache.block_stride),
             "slot": (cache.block_size, cache.slot_stride),
             "head": (cache.num_kv_heads, cache.head_stride), "dim": (cache.head_dim, 1)}
    if layout == "packed":
        sizes["dim"] = (cache.head_dim // cache.pack_width, cache.pack_stride)
        sizes["pack"] = (cache.pack_width, 1)
    order = {"token-major": "block slot head dim", "head-major": "block head slot dim",
             "packed": "block head dim slot pack"}[layout].split()
    if cache.pack_width == 1:  # packed V
        order = order[:4]
    shape, strides = zip(*(sizes[each] for each in order))
    return Place(cache.data, _types.TYPE_NAMES[cache.type], shape, strides, is_written)


def slots_at(layout: str, at: "Slots") -> Tuple[Any, ...]:
    """The index of slots in a cache of this layout."""
    every = slice(None)
    between = {"token-major": (), "head-major": (every,), "packed": (every, every)}[layout]
    return (at[0], *between, at[1])


def tokens_at(cache: "AnyArray", layout: str, at: "Slots") -> "AnyArray":
    """A copy of slots of a cache: [slots, num_kv_heads, head_dim]."""
    found = cache[slots_at(layout, at)]
    if found.ndim == 4:  # packed K
        found = found.reshape(*found.shape[:2], found.shape[2] * found.shape[3])
    return np.ascontiguousarray(found)


class NewTokens(NamedTuple):
    """The tokens of the query rows, taken out of the cache, for functions that append them."""

    k: "AnyArray"  #: [num_query_rows, num_kv_heads, head_dim_k], of the cache's type
    v: "AnyArray"  #: [num_query_rows, num_kv_heads, head_dim_v]
    #: [num_query_rows], block * block_size + offset
    slot_mapping: "np.ndarray[Any, np.dtype[np.int64]]"
    cached_length: "np.ndarray[Any, np.dtype[np.int32]]"  #: [num_seqs], without the new tokens
    k_cache: "AnyArray"  #: a copy, with NaN in the new tokens' slots
    v_cache: "AnyArray"


class Paged:
    """What an attention's call and its case know of the slots of the cache."""

    def slots(self: Any, sequence: int, begin: int = 0) -> "Slots":
        """The blocks and the offsets in them of a sequence's tokens from `begin` on:
        [context_length - begin] each, in int64."""
        tokens = np.arange(begin, int(self.context_length[sequence]))
        blocks = self.block_table[sequence][tokens // self.block_size].astype(np.int64)
        return blocks, tokens % self.block_size

    @property
    def live(self: Any) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """[num_blocks, block_size]: whether a sequence's context has this slot."""
        live = np.zeros((len(self.k_cache), self.block_size), bool)
        for sequence in range(len(self.context_length)):
            live[self.slots(sequence)] = True
        return live

    def gather(self: Any, sequence: int) -> "Tuple[FloatArray, FloatArray]":
        """K and V of a sequence's context in fp32, with their scales: [context_length,
        num_kv_heads, head_dim] each."""
        at = self.slots(sequence)
        k, v = (
            _types.to_float32(tokens_at(cache, self.layout, at), self.kv_type)
            for cache in (self.k_cache, self.v_cache)
        )
        return (k if self.k_scale is None else k * self.k_scale[:, None],
                v if self.v_scale is None else v * self.v_scale[:, None])

    def split_new_tokens(self: Any) -> NewTokens:
        """The query rows' own tokens, and caches without them, for functions that append new K and
        V to the cache themselves. Unsupported if a row has no token: one beyond its context."""
        rows = np.diff(self.query_start)
        cached = np.asarray(self.context_length) - rows
        if np.any(cached < 0):
            raise Unsupported("rows beyond their context have no token to append")
        parts = [self.slots(s, begin) for s, begin in enumerate(cached.tolist())]
        none = np.zeros(0, np.int64)
        blocks, offsets = (np.concatenate([none, *(part[i] for part in parts)]) for i in (0, 1))
        at, mapping = (blocks, offsets), blocks * self.block_size + offsets
        if len(np.unique(mapping)) < len(mapping):
            raise Unsupported("sequences share the block of a new token")
        new, caches = [], []
        for cache in (self.k_cache, self.v_cache):
            new.append(tokens_at(cache, self.layout, at))
            codes = np.array(cache).view(_types.code_type(self.kv_type))
            codes[slots_at(self.layout, at)] = _types.nan_code(self.kv_type)
            caches.append(codes.view(cache.dtype))
        return NewTokens(new[0], new[1], mapping, cached.astype(np.int32), caches[0], caches[1])
