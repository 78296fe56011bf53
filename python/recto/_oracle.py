"""The oracle on arrays of one's own: assert_attention, expected results and bounds."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from . import _filters, _types
from ._errors import UsageError
from ._programs import run

#: Options of a call, and all arrays that `recto oracle` reads.
OPTIONS = ("layout", "q_type", "kv_type", "query_start", "scale", "softcap", "causal", "window",
           "alibi_slopes", "sinks", "k_scale", "v_scale")
INPUTS = ("q", "k_cache", "v_cache", "block_table", "context_length", *OPTIONS)
_LISTS = ("block_table", "context_length", "query_start")
_HEADS = ("alibi_slopes", "sinks", "k_scale", "v_scale")


def assert_attention(
    out: Any, q: Any, k_cache: Any, v_cache: Any, block_table: Any, context_length: Any, *,
    lse: Any = None, bound: str = "probabilistic", numerics: Optional[_filters.Numerics] = None,
    **options: Any,
) -> None:
    """Compares the result of one call with the oracle, within the bound of each element.

    Arrays are NumPy's or tensors on the CPU; bf16 and fp8 as ml_dtypes or torch have them, or as
    codes (uint16, uint8), of which `q_type` and `kv_type` then tell the type.

    Args:
        out: [num_query_rows, num_q_heads, head_dim_v], of q's type, fp32 or fp64.
        q: [num_query_rows, num_q_heads, head_dim_k].
        k_cache, v_cache: of `layout`, as `AttentionCall.k_cache` says.
        block_table: [num_seqs, max_blocks]; context_length: [num_seqs], with the rows' own tokens.
        lse: [num_query_rows, num_q_heads], natural logarithm; None: not compared.
        bound: "probabilistic", or "worst-case"; numerics: how the kernel computes.
        options: of the call, as `AttentionCall` has them: query_start ([num_seqs + 1]; None: one
            row per sequence), scale (None: 1 / sqrt(head_dim_k)), softcap (0: none), causal (True),
            window, alibi_slopes, sinks, k_scale, v_scale, layout ("token-major", "head-major" or
            "packed"; engines call them NHD, HND and v0), q_type, kv_type.

    Raises:
        AssertionError: naming the first and the worst element, with seen, expected and bound.
        UsageError: naming the array that has a wrong type or shape.
    """
    __tracebackhide__ = True
    arrays = input_arrays(q, k_cache, v_cache, block_table, context_length, **options)
    text, message = judge(answered(arrays, out, lse), dict(bound=bound, numerics=numerics))
    if message:
        raise AssertionError(f"{message}\n{text}")


def oracle(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, context_length: Any, *,
    bound: str = "probabilistic", numerics: Optional[_filters.Numerics] = None, **options: Any,
) -> "Dict[str, np.ndarray[Any, np.dtype[np.float64]]]":
    """The fp64 result of attention: "expected" and "bound" [num_query_rows, num_q_heads,
    head_dim_v], "expected_lse_ln" and "bound_lse_ln" [num_query_rows, num_q_heads].

    Args are those of `assert_attention`.
    """
    arrays = input_arrays(q, k_cache, v_cache, block_table, context_length, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "expected.npz")
        judge(arrays, dict(bound=bound, numerics=numerics), ["--out", path])
        with np.load(path) as found:
            return dict(found)


def input_arrays(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, context_length: Any, *,
    layout: str = "token-major", q_type: Optional[str] = None, kv_type: Optional[str] = None,
    **options: Any,
) -> Dict[str, Any]:
    """The arrays of a case's file."""
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"{min(unknown)!r} is no option; known are {', '.join(OPTIONS)}")
    named = _filters.layout_named(layout)
    queries, q_type = codes_of("q", q, q_type)
    keys, kv_type = codes_of("k_cache", k_cache, kv_type)
    values, _ = codes_of("v_cache", v_cache, kv_type)
    scale = options.get("scale")
    if scale is None:
        scale = max(1, queries.shape[-1] if queries.ndim else 1) ** -0.5
    arrays: Dict[str, Any] = {
        "q_type": np.str_(q_type), "kv_type": np.str_(kv_type),
        "layout": np.str_(named),
        "q": queries, "k_cache": keys, "v_cache": values, "scale": np.float32(scale),
        "softcap": np.float32(options.get("softcap") or 0),
        "causal": np.bool_(options.get("causal", True)),
        "window": np.int64(options.get("window") or 0),
    }
    lists = {**options, "block_table": block_table, "context_length": context_length}
    for name in (*_LISTS, *_HEADS):
        if lists.get(name) is not None:
            arrays[name] = _converted(name, lists[name])
    return arrays


def answered(arrays: Dict[str, Any], out: Any, lse: Any) -> Dict[str, Any]:
    """The arrays with an answer: `out` in q's type, fp32 or fp64; lse may be None."""
    answer = {"out": codes_of("out", out, str(arrays["q_type"]))[0]}
    if lse is not None:
        answer["lse_ln"] = np.ascontiguousarray(_types.array_of(lse))
    return {**arrays, **answer}


def _converted(name: str, value: Any) -> "np.ndarray[Any, Any]":
    array = _types.array_of(value)
    is_list = name in _LISTS
    if array.size and array.dtype.kind not in ("iu" if is_list else "iuf"):
        wanted = "integers" if is_list else "numbers"
        raise UsageError(f"{name}: expected {wanted}, got {array.dtype}")
    if is_list:  # what is beyond int32 must not become a block that there is
        array = np.clip(array.astype(np.int64), -(2**31), 2**31 - 1)
    array = np.ascontiguousarray(array, np.int32 if is_list else np.float32)
    return array.reshape(1) if array.ndim == 0 else array


def codes_of(name: str, value: Any, type_name: Optional[str]) -> "Tuple[np.ndarray[Any, Any], str]":
    """The codes of an array, and its element type, which its own type tells if it is no code."""
    array = _types.array_of(value)
    if name == "out" and array.dtype == np.float64:
        array = array.astype(np.float32)
    known = {_types.code_type("fp32"): "fp32", _types.code_type("fp16"): "fp16"}
    for each in ("bf16", "e4m3", "e5m2"):
        if _types.numpy_type(each) != _types.code_type(each):
            known[_types.numpy_type(each)] = each
    own = known.get(array.dtype)
    if own is None and type_name is None:
        raise UsageError(
            f"{name}: expected float32, float16, or a type of ml_dtypes or torch, got "
            f"{array.dtype}; for codes, q_type and kv_type tell the type"
        )
    if name == "out" and own == "fp32":
        return np.ascontiguousarray(array), own
    chosen = type_name or own
    assert chosen is not None
    if chosen not in _types.TYPE_NAMES:
        raise UsageError(f"{name}: expected one of {', '.join(_types.TYPE_NAMES)}, got {chosen!r}")
    if array.dtype not in (_types.code_type(chosen), _types.numpy_type(chosen)):
        raise UsageError(
            f"{name}: expected {_types.numpy_type(chosen)} for {chosen}, got {array.dtype}"
        )
    return np.ascontiguousarray(array).view(_types.code_type(chosen)), chosen


def judge(
    arrays: Dict[str, Any], words: Dict[str, Any], more: Sequence[str] = ()
) -> Tuple[str, str]:
    """Runs the oracle on the arrays of a case, and on `out` if it is one of them: what is wrong,
    and in a line of its own how much, "" if nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "inputs.npz")
        np.savez(path, **arrays)
        flags = _filters.flags(words, ("bound", "numerics"))
        try:
            text, message = run("recto_kernels", ["oracle", path, *flags, *more],
                                _filters.RENAMED, judges=True)
        except UsageError as error:
            raise UsageError(str(error).replace(f"{path}: ", "")) from None
    return text.replace(message, "", 1).strip(), message
