"""Where the parts of a call lie, in each layout."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from . import _structs, _types
from ._memory import Place

def rows_place(rows: _structs.Rows, is_written: bool = False) -> Place:
    return Place(
        rows.data, _types.TYPE_NAMES[rows.type], (rows.num_rows, rows.num_heads, rows.head_dim),
        (rows.row_stride, rows.head_stride, 1), is_written,
    )


def cache_place(cache: _structs.KvTensor, is_written: bool = False) -> Place:
    """In the layout's own order of dimensions."""
    blocks, slots, heads = cache.num_blocks, cache.block_size, cache.num_kv_heads
    block, head, slot = cache.block_stride, cache.head_stride, cache.slot_stride
    layout = _structs.LAYOUTS[cache.layout]
    if layout == "token-major":
        shape, strides = (blocks, slots, heads, cache.head_dim), (block, slot, head, 1)
    elif layout == "head-major":
        shape, strides = (blocks, heads, slots, cache.head_dim), (block, head, slot, 1)
    else:
        width, pack = cache.pack_width, cache.pack_stride
        packs = cache.head_dim // width
        if width == 1:  # V
            shape, strides = (blocks, heads, packs, slots), (block, head, pack, slot)
        else:
            return Place(
                cache.data, _types.TYPE_NAMES[cache.type], (blocks, heads, packs, slots, width),
                (block, head, pack, slot, 1), is_written,
            )
    return Place(cache.data, _types.TYPE_NAMES[cache.type], shape, strides, is_written)


def by_token(cache: "np.ndarray[Any, Any]", layout: str, is_k: bool) -> "np.ndarray[Any, Any]":
    """A cache as [num_blocks, block_size, num_kv_heads, head_dim]: a view, of packed K a copy."""
    if layout == "token-major":
        return cache
    if layout == "head-major":
        return cache.transpose(0, 2, 1, 3)
    if not is_k:
        return cache.transpose(0, 3, 1, 2)
    moved = cache.transpose(0, 3, 1, 2, 4)
    return moved.reshape(*moved.shape[:3], moved.shape[3] * moved.shape[4])


def set_nan(cache: "np.ndarray[Any, Any]", layout: str, is_k: bool, at: Any, kv_type: str) -> None:
    codes = cache.view(_types.code_type(kv_type))
    nan = np.array(-1 if kv_type in ("e4m3", "e5m2", "bf16") else np.nan)
    value = nan.astype(codes.dtype) if codes.dtype.kind == "f" else np.iinfo(codes.dtype).max
    block, slot = at
    if layout == "token-major":
        codes[block, slot] = value
    elif layout == "head-major":
        codes[block, :, slot] = value
    else:  # packed, of K and of V
        codes[block, :, :, slot] = value


def live_slots(
    block_table: Any, context_length: Any, num_blocks: int, block_size: int
) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """[num_blocks, block_size]: whether a sequence's context has this slot."""
    live = np.zeros((num_blocks, block_size), bool)
    for s, length in enumerate(context_length.tolist()):
        live[context_slots(block_table[s], length, block_size)] = True
    return live


def context_slots(blocks: Any, length: int, block_size: int) -> Tuple[Any, Any]:
    """The blocks and the offsets of a sequence's tokens: [length] each."""
    tokens = np.arange(length)
    return blocks[tokens // block_size], tokens % block_size


def gathered(
    cache: Any, at: Tuple[Any, Any], type_name: str, scale: Any
) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """The numbers of slots of a cache by token: [slots, num_kv_heads, head_dim]."""
    numbers = _types.to_float32(np.ascontiguousarray(cache[at]), type_name)
    return numbers if scale is None else numbers * scale[:, None]
