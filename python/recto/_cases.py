"""Cases without a callback: for programs that cannot be called, or that call recto."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence, Union

import numpy as np

from . import _filters, _oracle, _types
from ._engine import EngineFailed, UsageError, signal_text
from ._layouts import by_token, context_slots, gathered, live_slots
from ._new_tokens import NewTokens, split_new_tokens
from ._programs import program

_CACHES = ("k_cache", "v_cache")
_KNOWN = ("cases", "seed", "operations", *_filters.FILTERS, *_filters.LIMITS)


class Wrong(AssertionError):
    """An answer beyond the bounds; the message names the first and the worst element."""


class Case:
    """One case, from its file: the arrays that docs/python.md lists, under the same names.

    `case.q`, `case.k_cache`, `case.block_table`, `case.expected`, `case.bound` and so on are
    arrays; bf16 and fp8 are of ml_dtypes where that is installed, else codes. Scalars are Python's.
    What a case does not have is None: `window`, `alibi_slopes`, `sinks`, `k_scale`, `v_scale`.
    """

    def __init__(self, path: Union[str, "Path"]) -> None:
        self.name = Path(path).stem
        with np.load(path) as found:
            arrays: Dict[str, Any] = dict(found)
        self._file = {name: array for name, array in arrays.items() if name in _oracle.INPUTS}
        texts = ("op", "q_type", "kv_type", "layout")
        self.op, self.q_type, self.kv_type, self.layout = (str(arrays.pop(each)) for each in texts)
        for name in _CACHES:
            arrays[name] = arrays[name].view(_types.numpy_type(self.kv_type))
        for name in ("q", "new_k", "new_v"):
            if name in arrays:
                arrays[name] = arrays[name].view(_types.numpy_type(self.q_type))
        for name in ("scale", "softcap", "causal", "window", "block_size"):
            if name in arrays:
                arrays[name] = arrays[name].item()
        self._leave_out_neutral(arrays)
        self._arrays = arrays

    @staticmethod
    def _leave_out_neutral(arrays: Dict[str, Any]) -> None:
        for name, neutral in (
            ("window", 0), ("alibi_slopes", 0), ("sinks", -np.inf), ("k_scale", 1), ("v_scale", 1)
        ):
            if name in arrays and np.all(arrays[name] == neutral):
                arrays[name] = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._arrays:
            raise AttributeError(f"{self.name}: no {name}; it has {', '.join(self._arrays)}")
        return self._arrays[name]

    def __repr__(self) -> str:
        return f"<recto.Case {self.name}: {self.q_type} / {self.kv_type}, {self.layout}>"

    @property
    def live(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """[num_blocks, block_size]: whether a sequence's context has this slot."""
        return live_slots(
            self.block_table, self.context_length, self.k_cache.shape[0], self.block_size
        )

    def gather(self, sequence: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """K and V of a sequence's context in fp32: [context_length, num_kv_heads, head_dim]."""
        at = context_slots(
            self.block_table[sequence], int(self.context_length[sequence]), self.block_size
        )
        codes = _types.code_type(self.kv_type)
        k, v = (self.cache_by_token(name).view(codes) for name in _CACHES)
        return (
            gathered(k, at, self.kv_type, self.k_scale), gathered(v, at, self.kv_type, self.v_scale)
        )

    def cache_by_token(self, name: str) -> "np.ndarray[Any, Any]":
        """`k_cache` or `v_cache` as [num_blocks, block_size, num_kv_heads, head_dim]."""
        return by_token(self._arrays[name], self.layout, name == "k_cache")

    def split_new_tokens(self) -> NewTokens:
        """As `AttentionCall.split_new_tokens`."""
        return split_new_tokens(self)

    def check(self, out: Any, lse_ln: Any = None) -> None:
        """Judges an answer: Wrong, naming the first and the worst element, if an element is beyond
        its bound. Of kv_write, `out` is (k_cache, v_cache) after the write.
        """
        __tracebackhide__ = True
        if self.op == "kv_write":
            self._check_pools(out)
            return
        arrays = {**self._file, "out": _oracle.codes_of("out", out, self.q_type)}
        if lse_ln is not None:
            arrays["lse_ln"] = np.asarray(lse_ln)
        code, text, message = _oracle.judge(arrays, {})
        if code == 1:
            raise Wrong(f"{self.name}: {message}\n{text}")

    def _check_pools(self, pools: Sequence[Any]) -> None:
        for name, pool, expected in zip(
            ("k_cache", "v_cache"), pools, (self.expected_k_cache, self.expected_v_cache)
        ):
            array = np.asarray(pool)
            is_code = array.dtype.itemsize == expected.itemsize
            codes = array.view(expected.dtype) if is_code else array
            if codes.shape != expected.shape:
                shapes = f"expected shape {expected.shape}, got {codes.shape}"
                raise Wrong(f"{self.name}: {name}: {shapes}")
            integers = np.dtype(f"u{expected.itemsize}")
            wrong = codes.view(integers) != expected.view(integers)
            if wrong.any():
                at = tuple(np.argwhere(wrong)[0])
                raise Wrong(
                    f"{self.name}: {int(wrong.sum())} elements of {name} are wrong, the first at "
                    f"[{', '.join(map(str, at))}]: seen {codes[at]!r}, expected {expected[at]!r}"
                )


def cases(
    *, cases: Optional[int] = None, seed: Optional[int] = None,
    operations: Optional[Sequence[str]] = None, **filters: Any,
) -> Iterator[Case]:
    """Iterates over drawn cases.

    Args:
        cases: how many (24); seed: of the draws (2026).
        operations: of "decode", "prefill", "kv_write" (all).
        filters: those of `verify`.
    """
    words = dict(cases=cases, seed=seed, operations=operations, **filters)
    flags = _filters.flags(words, _KNOWN)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "cases"
        done = subprocess.run(
            [program("recto_kernels"), "cases", "--out", str(folder), *flags],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )
        message = done.stderr.strip().partition("error: ")[2] or done.stderr.strip()
        if done.returncode == 2:
            raise UsageError(_filters.in_python(message))
        if done.returncode != 0:
            raise EngineFailed(f"no cases: {signal_text(done.returncode)}: {message}")
        for path in sorted(folder.glob("*.npz")):
            yield Case(path)
