"""What a function under test gets: the arguments of one call, as views of shared memory."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

import numpy as np

from . import _structs, _types
from ._layouts import Paged, cache_place, rows_place
from ._memory import Arguments, Memory, Place

if TYPE_CHECKING:
    AnyArray = np.ndarray[Any, Any]
    FloatArray = np.ndarray[Any, np.dtype[np.float32]]
    IntArray = np.ndarray[Any, np.dtype[np.int32]]


class Call:
    """What all calls have. Arrays are valid until the function returns; copy what you keep."""

    #: "decode", "prefill" or "kv_write".
    function: str
    #: "token-major", "head-major" or "packed", of the caches.
    layout: str
    #: Element types: "fp32", "fp16", "bf16", "e4m3", "e5m2".
    q_type: str
    kv_type: str
    block_size: int
    num_blocks: int
    num_kv_heads: int
    head_dim_k: int
    head_dim_v: int

    def __init__(
        self, memory: Memory, places: Dict[str, Place], k: _structs.KvTensor, v: _structs.KvTensor
    ) -> None:
        for name, cache in (("k_scale", k), ("v_scale", v)):
            if cache.scale:
                count = 1 if cache.scale_kind == 1 else cache.num_kv_heads
                places[name] = Place(cache.scale, "fp32", (count,), (1,))
        self._arguments = Arguments(memory, places)
        self.layout = _structs.LAYOUTS[k.layout]
        self.kv_type = _types.TYPE_NAMES[k.type]
        self.block_size, self.num_blocks = k.block_size, k.num_blocks
        self.num_kv_heads = k.num_kv_heads
        self.head_dim_k, self.head_dim_v = k.head_dim, v.head_dim
        self._pool_bytes = k.num_blocks * k.block_stride * _types.code_type(self.kv_type).itemsize

    def _optional(self, name: str) -> "Optional[Any]":
        return self._arguments.array(name) if name in self._arguments.places else None

    @property
    def arguments(self) -> Tuple[str, ...]:
        """The names of the arrays that this call has."""
        return tuple(self._arguments.places)

    @property
    def k_cache(self) -> "AnyArray":
        """In the order of dimensions of `layout`:

        - token-major: [num_blocks, block_size, num_kv_heads, head_dim_k]
        - head-major: [num_blocks, num_kv_heads, block_size, head_dim_k]
        - packed: [num_blocks, num_kv_heads, head_dim_k / x, block_size, x], x elements in 16 bytes
        """
        return self._arguments.array("k_cache")

    @property
    def v_cache(self) -> "AnyArray":
        """As `k_cache`; packed: [num_blocks, num_kv_heads, head_dim_v, block_size]."""
        return self._arguments.array("v_cache")

    @property
    def k_scale(self) -> "Optional[FloatArray]":
        """[1] or [num_kv_heads], of an fp8 cache: value = code * scale; None: 1."""
        return self._optional("k_scale")

    @property
    def v_scale(self) -> "Optional[FloatArray]":
        """As `k_scale`."""
        return self._optional("v_scale")

    def __repr__(self) -> str:
        plain = [f"{name}={value!r}" for name, value in vars(self).items() if name[0] != "_"]
        arrays = [f"{name} [{', '.join(map(str, place.shape))}]"
                  for name, place in self._arguments.places.items()]
        return f"<recto.{type(self).__name__}: {', '.join(plain + arrays)}>"

    def float32(self, name: str) -> "FloatArray":
        """A copy of an argument's numbers, of any element type, without its scale."""
        return _types.to_float32(
            self._arguments.codes(name), self._arguments.places[name].type_name
        )

    def torch(self, device: Any = None) -> Any:
        """The call's arguments as torch tensors, under the same names: an object with them and
        with this call's other attributes. They share the call's memory, unless `device` is another
        device, to which they are copied. A returned tensor may then be there, too."""
        import torch

        def tensor(array: "AnyArray", type_name: str) -> Any:
            made = _types.tensor_of(array, type_name)
            return made if device is None else made.to(device)

        self._returned_device = None if device is None else torch.device(device).type
        return self._with_arrays_as(tensor)

    #: The type of device, beside the CPU, on which the result may be.
    _returned_device: Optional[str] = None

    def dlpack(self) -> Any:
        """The call's arguments as objects with `__dlpack__`, under the same names: for JAX, CuPy
        and others. They share the call's memory."""
        from ._dlpack import Exported

        return self._with_arrays_as(Exported)

    def _with_arrays_as(self, make: "Callable[[AnyArray, str], Any]") -> Any:
        plain = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        made = types.SimpleNamespace(call=self, **dict.fromkeys(_OPTIONAL), **plain)
        for name, place in self._arguments.places.items():
            setattr(made, name, make(self._arguments.codes(name), place.type_name))
        return made


_OPTIONAL = ("k_scale", "v_scale", "alibi_slopes", "sinks", "query_start")


class AttentionCall(Call, Paged):
    """A call of `decode` (one query row per sequence) or `prefill` (any number of rows)."""

    num_q_heads: int
    num_seqs: int
    max_context_length: int
    max_query_length: int
    #: The factor of the scores; of either sign.
    scale: float
    #: softcap * tanh(x / softcap), before ALiBi; 0: none.
    softcap: float
    causal: bool
    #: Visible keys, the row's own included: i - window < j; None: all.
    window: Optional[int]

    def __init__(self, function: str, call: _structs.Attention, memory: Memory) -> None:
        self.function = function
        q = call.q
        places = {
            "q": rows_place(q), "k_cache": cache_place(call.k), "v_cache": cache_place(call.v),
            "block_table": Place(
                call.block_table, "int32", (call.num_seqs, call.max_blocks),
                (call.block_table_row_stride, 1),
            ),
            "context_length": Place(call.context_length, "int32", (call.num_seqs,), (1,)),
        }
        if call.query_start:
            places["query_start"] = Place(call.query_start, "int32", (call.num_seqs + 1,), (1,))
        for name, pointer in (("alibi_slopes", call.alibi_slopes), ("sinks", call.sinks)):
            if pointer:
                places[name] = Place(pointer, "fp32", (q.num_heads,), (1,))
        places["out"] = rows_place(call.out, is_written=True)
        places["lse_ln"] = Place(
            call.lse_ln, "fp32", (q.num_rows, q.num_heads), (q.num_heads, 1), is_written=True
        )
        super().__init__(memory, places, call.k, call.v)
        self.q_type = _types.TYPE_NAMES[q.type]
        self.num_q_heads, self.num_query_rows = q.num_heads, q.num_rows
        self.num_seqs = call.num_seqs
        self.max_context_length = call.max_context_length
        self.max_query_length = call.max_query_length
        self.scale, self.softcap = call.scale, call.softcap
        self.causal, self.window = bool(call.causal), call.window or None

    @property
    def q(self) -> "AnyArray":
        """[num_query_rows, num_q_heads, head_dim_k]; query head h reads KV head
        h // (num_q_heads // num_kv_heads)."""
        return self._arguments.array("q")

    @property
    def block_table(self) -> "IntArray":
        """[num_seqs, max_blocks]; entries beyond a sequence's blocks are arbitrary."""
        return self._arguments.array("block_table")

    @property
    def context_length(self) -> "IntArray":
        """[num_seqs], may be 0; includes the tokens of the query rows."""
        return self._arguments.array("context_length")

    @property
    def query_start(self) -> "IntArray":
        """[num_seqs + 1]: sequence s has rows query_start[s] to query_start[s + 1]; row r of m, in
        a context of n, stands at position n - m + r."""
        if "query_start" in self._arguments.places:
            return self._arguments.array("query_start")
        return np.arange(self.num_seqs + 1, dtype=np.int32)

    @property
    def alibi_slopes(self) -> "Optional[FloatArray]":
        """[num_q_heads]: slope * (j - i) is added to the score; None: none."""
        return self._optional("alibi_slopes")

    @property
    def sinks(self) -> "Optional[FloatArray]":
        """[num_q_heads]: exp(sink) is added to the denominator; None: none."""
        return self._optional("sinks")

    @property
    def out(self) -> "AnyArray":
        """[num_query_rows, num_q_heads, head_dim_v], of q's type: you may write the result here,
        and return `call.out`, in place of a new array."""
        return self._arguments.array("out")

    @property
    def lse_ln(self) -> "FloatArray":
        """[num_query_rows, num_q_heads]: likewise, of the natural logarithm of the denominator."""
        return self._arguments.array("lse_ln")

    @property
    def expected(self) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """The oracle's result, [num_query_rows, num_q_heads, head_dim_v]: computed when it is first
        asked for."""
        return self._oracle["expected"]

    @property
    def bound(self) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """The probabilistic bound of the error of each element of `out`, without declared
        numerics."""
        return self._oracle["bound"]

    @functools.cached_property
    def _oracle(self) -> Any:
        from ._oracle import OPTIONS, oracle

        q, k_cache, v_cache = map(self._arguments.codes, ("q", "k_cache", "v_cache"))
        return oracle(q, k_cache, v_cache, self.block_table, self.context_length,
                      **{name: getattr(self, name) for name in OPTIONS})


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
