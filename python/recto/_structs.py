"""The structs of verify/library/recto_kernel.h and kernel_mailbox.h, as ctypes sees them."""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict

ABI_MAJOR, ABI_MINOR = 1, 1
HOST_MEMORY = 1
WITHOUT_LSE = 1  # RectoFeatures
OK, UNSUPPORTED, FAILED = 0, 1, 2  # RectoStatus
FUNCTIONS = ("decode", "prefill", "kv_write")  # KernelFunction
LOADED = 7  # LoadStep
# KernelEnd
ANSWERED, SIGNAL, EXIT, TIME_LIMIT, CLOCK_LIMIT, HANGING = 0, 1, 2, 5, 6, 7
LAYOUTS = ("token-major", "head-major", "packed")
PRINTED_BYTES = 2000


class Context(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint64), ("memory", c.c_int32), ("device", c.c_int32),
        ("stream", c.c_uint64), ("message", c.c_uint64), ("message_bytes", c.c_int64),
    ]


class Rows(c.Structure):
    _fields_ = [
        ("data", c.c_uint64), ("type", c.c_int32), ("reserved", c.c_int32),
        ("num_rows", c.c_int64), ("num_heads", c.c_int64), ("head_dim", c.c_int64),
        ("row_stride", c.c_int64), ("head_stride", c.c_int64),
    ]


class KvTensor(c.Structure):
    _fields_ = [
        ("data", c.c_uint64), ("type", c.c_int32), ("layout", c.c_int32),
        ("num_blocks", c.c_int64), ("block_size", c.c_int64), ("num_kv_heads", c.c_int64),
        ("head_dim", c.c_int64), ("block_stride", c.c_int64), ("head_stride", c.c_int64),
        ("slot_stride", c.c_int64), ("pack_width", c.c_int64), ("pack_stride", c.c_int64),
        ("scale", c.c_uint64), ("scale_kind", c.c_int32), ("reserved", c.c_int32),
    ]


class Attention(c.Structure):
    _fields_ = [
        ("context", Context), ("q", Rows), ("k", KvTensor), ("v", KvTensor),
        ("block_table", c.c_uint64), ("num_seqs", c.c_int64), ("max_blocks", c.c_int64),
        ("block_table_row_stride", c.c_int64), ("context_length", c.c_uint64),
        ("query_start", c.c_uint64), ("max_context_length", c.c_int64),
        ("max_query_length", c.c_int64), ("scale", c.c_float), ("softcap", c.c_float),
        ("causal", c.c_int32), ("reserved", c.c_int32), ("window", c.c_int64),
        ("alibi_slopes", c.c_uint64), ("sinks", c.c_uint64), ("out", Rows), ("lse_ln", c.c_uint64),
    ]


class KvWrite(c.Structure):
    _fields_ = [
        ("context", Context), ("k", Rows), ("v", Rows), ("slot_mapping", c.c_uint64),
        ("num_tokens", c.c_int64), ("k_cache", KvTensor), ("v_cache", KvTensor),
    ]


class Table(c.Structure):
    """LoadedTable."""

    _fields_ = [
        ("struct_bytes", c.c_uint64), ("abi_major", c.c_int32), ("abi_minor", c.c_int32),
        ("memories", c.c_uint32), ("features", c.c_uint64), ("name", c.c_char * 64),
        ("has_function", c.c_bool * 3),
    ]


class Pages(c.Structure):
    """OpenPages: offsets in the arena."""

    _fields_ = [("begin", c.c_int64), ("end", c.c_int64), ("is_written", c.c_uint8)]


class Mailbox:
    """The mailbox, in shared memory that a buffer exposes."""

    def __init__(self, memory: Any, fields: Dict[str, int]) -> None:
        self.table = Table.from_buffer(memory, fields["table"])
        self._load_step = c.c_int32.from_buffer(memory, fields["load_step"])
        self._function = c.c_int32.from_buffer(memory, fields["function"])
        self._num_pages = c.c_int32.from_buffer(memory, fields["num_pages"])
        self._pages = (Pages * 24).from_buffer(memory, fields["pages"])
        self._returned = c.c_int32.from_buffer(memory, fields["returned"])
        self._end = c.c_int32.from_buffer(memory, fields["end"])
        self._has_guards = c.c_bool.from_buffer(memory, fields["has_guards"])
        self._printed = (c.c_char * PRINTED_BYTES).from_buffer(memory, fields["printed"])
        self.attention = Attention.from_buffer(memory, fields["call"])
        self.kv_write = KvWrite.from_buffer(memory, fields["call"])

    @property
    def function(self) -> str:
        return FUNCTIONS[self._function.value]

    @property
    def pages(self) -> "list[Pages]":
        return list(self._pages[: self._num_pages.value])

    def load(self, name: str, functions: Any, has_guards: bool) -> None:
        """Offers these functions, as a library's table does."""
        table = self.table
        table.struct_bytes, table.abi_major, table.abi_minor = 64, ABI_MAJOR, ABI_MINOR
        table.memories, table.features = HOST_MEMORY, 0
        table.name = name.encode()[:63]
        for i, function in enumerate(FUNCTIONS):
            table.has_function[i] = function in functions
        self._has_guards.value = has_guards
        self._load_step.value = LOADED

    def answer(self, returned: int, end: int = ANSWERED, printed: str = "") -> None:
        """How the call ended: a status, or the signal or exit code that ended it."""
        self._returned.value, self._end.value = returned, end
        text = printed.encode("utf-8", "replace")
        self._printed.raw = text[: PRINTED_BYTES - 1].ljust(PRINTED_BYTES, b"\0")
