"""Cases without a callback: for programs that cannot be called, or that call recto."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence, Union

import numpy as np

from . import _filters, _oracle, _types
from ._errors import UsageError, Wrong
from ._layouts import Paged
from ._programs import run

_CACHES = ("k_cache", "v_cache")
_KNOWN = ("cases", "seed", "operations", *_filters.FILTERS, *_filters.LIMITS)


class Case(Paged):
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
        arrays = vars(self).get("_arrays", {})  # a copy is made before it has any
        if name not in arrays:
            raise AttributeError(f"a case: no {name}; it has {', '.join(arrays)}")
        return arrays[name]

    def __repr__(self) -> str:
        return f"<recto.Case {self.name}: {self.q_type} / {self.kv_type}, {self.layout}>"

    def check(
        self, out: Any, lse: Any = None, *, numerics: Optional[_filters.Numerics] = None
    ) -> None:
        """Judges an answer: Wrong, naming the first and the worst element, if an element is beyond
        its bound.

        Args:
            out: [num_query_rows, num_q_heads, head_dim_v], of q's type, fp32 or fp64; of kv_write,
                (k_cache, v_cache) after the write.
            lse: [num_query_rows, num_q_heads], natural logarithm; None: not compared.
            numerics: how the kernel computes, where its author declares it.
        """
        __tracebackhide__ = True
        if self.op == "kv_write":
            self._check_pools(out)
            return
        text, message = _oracle.judge(
            _oracle.answered(self._file, out, lse), dict(numerics=numerics))
        if message:
            raise Wrong(f"{self.name}: {message}\n{text}")

    def _check_pools(self, pools: Sequence[Any]) -> None:
        if not isinstance(pools, (tuple, list)) or len(pools) != 2:
            raise UsageError(f"{self.name}: expected (k_cache, v_cache)")
        for name, pool, expected in zip(
            _CACHES, pools, (self.expected_k_cache, self.expected_v_cache)
        ):
            codes, _ = _oracle.codes_of(name, pool, self.kv_type)
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
        run("recto_kernels", ["cases", "--out", str(folder), *flags], _filters.RENAMED)
        for path in sorted(folder.glob("*.npz")):
            yield Case(path)
