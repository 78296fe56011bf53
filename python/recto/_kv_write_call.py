"""What a `kv_write` under test gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _structs, _types
from ._call import Call
from ._layouts import cache_place, rows_place
from ._memory import Memory, Place

if TYPE_CHECKING:
    AnyArray = np.ndarray[Any, Any]


class KvWriteCall(Call):
    """A call of `kv_write`: token t goes into slot slot_mapping[t] of the caches, which the
    function changes in place."""

    num_tokens: int

    def __init__(self, call: _structs.KvWrite, memory: Memory) -> None:
        self.function = "kv_write"
        places = {
            "new_k": rows_place(call.k), "new_v": rows_place(call.v),
            "slot_mapping": Place(call.slot_mapping, "int64", (call.num_tokens,), (1,)),
            "k_cache": cache_place(call.k_cache, True), "v_cache": cache_place(call.v_cache, True),
        }
        super().__init__(memory, places, call.k_cache, call.v_cache)
        self.q_type = _types.TYPE_NAMES[call.k.type]
        self.num_tokens = call.num_tokens

    @property
    def new_k(self) -> "AnyArray":
        """[num_tokens, num_kv_heads, head_dim_k], of `q_type`."""
        return self._arguments.array("new_k")

    @property
    def new_v(self) -> "AnyArray":
        """[num_tokens, num_kv_heads, head_dim_v]."""
        return self._arguments.array("new_v")

    @property
    def slot_mapping(self) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """[num_tokens]: block * block_size + offset; -1 writes nothing."""
        return self._arguments.array("slot_mapping")
