"""The oracle on arrays of one's own: assert_attention, expected results and bounds."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Tuple

import numpy as np

from . import _filters, _types
from ._engine import EngineFailed, UsageError, signal_text
from ._programs import program

if TYPE_CHECKING:
    from ._call import AttentionCall

#: Arrays that `recto oracle` reads.
INPUTS = ("q_type", "kv_type", "layout", "q", "k_cache", "v_cache", "block_table", "context_length",
          "query_start", "scale", "softcap", "causal", "window", "alibi_slopes", "sinks", "k_scale",
          "v_scale")
_LISTS = ("block_table", "context_length", "query_start")
_HEADS = ("alibi_slopes", "sinks", "k_scale", "v_scale")


def assert_attention(
    out: Any,
    q: Any,
    k_cache: Any,
    v_cache: Any,
    block_table: Any,
    context_length: Any,
    *,
    lse_ln: Any = None,
    query_start: Any = None,
    scale: Optional[float] = None,
    softcap: float = 0.0,
    causal: bool = True,
    window: Optional[int] = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    layout: str = "token-major",
    q_type: Optional[str] = None,
    kv_type: Optional[str] = None,
    bound: str = "probabilistic",
    numerics: Optional[_filters.Numerics] = None,
) -> None:
    """Compares the result of one call with the oracle, within the bound of each element.

    Arrays are NumPy's or tensors on the CPU; bf16 and fp8 as ml_dtypes or torch have them, or as
    codes (uint16, uint8), of which `q_type` and `kv_type` then tell the type.

    Args:
        out: [num_query_rows, num_q_heads, head_dim_v], of q's type or fp32.
        q: [num_query_rows, num_q_heads, head_dim_k].
        k_cache, v_cache: of `layout`, as `AttentionCall.k_cache` says.
        block_table: [num_seqs, max_blocks]; context_length: [num_seqs], with the rows' own tokens.
        lse_ln: [num_query_rows, num_q_heads], natural logarithm; None: not compared.
        query_start: [num_seqs + 1]; None: one row per sequence.
        scale: None: 1 / sqrt(head_dim_k). The other options are those of `AttentionCall`.
        bound: "probabilistic", or "worst-case"; numerics: how the kernel computes.

    Raises:
        AssertionError: naming the first and the worst element, with seen, expected and bound.
        UsageError: naming the array that has a wrong type or shape.
    """
    __tracebackhide__ = True
    arrays = input_arrays(
        q, k_cache, v_cache, block_table, context_length, query_start=query_start, scale=scale,
        softcap=softcap, causal=causal, window=window, alibi_slopes=alibi_slopes, sinks=sinks,
        k_scale=k_scale, v_scale=v_scale, layout=layout, q_type=q_type, kv_type=kv_type,
    )
    arrays["out"] = codes_of("out", out, str(arrays["q_type"]))
    if lse_ln is not None:
        arrays["lse_ln"] = np.ascontiguousarray(_numpy(lse_ln))
    words = {"bound": bound, "numerics": numerics}
    code, text, message = judge(arrays, words)
    if code == 1:
        raise AssertionError(f"{message}\n{text}")


def oracle(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, context_length: Any, **options: Any
) -> "Dict[str, np.ndarray[Any, np.dtype[np.float64]]]":
    """The fp64 result of attention: "expected" and "bound" [num_query_rows, num_q_heads,
    head_dim_v], "expected_lse_ln" and "bound_lse_ln" [num_query_rows, num_q_heads].

    Args are those of `assert_attention`.
    """
    words = {name: options.pop(name, None) for name in ("bound", "numerics")}
    arrays = input_arrays(q, k_cache, v_cache, block_table, context_length, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "expected.npz")
        judge(arrays, words, ["--out", path])
        with np.load(path) as found:
            return dict(found)


def oracle_of_call(call: "AttentionCall") -> "Dict[str, np.ndarray[Any, Any]]":
    """The same for a call under test."""
    arguments = call._arguments
    lists = {name: getattr(call, name) for name in ("query_start", *_HEADS)}
    return oracle(
        arguments.codes("q"), arguments.codes("k_cache"), arguments.codes("v_cache"),
        call.block_table, call.context_length, scale=call.scale, softcap=call.softcap,
        causal=call.causal, window=call.window, layout=call.layout, q_type=call.q_type,
        kv_type=call.kv_type, **lists,
    )


def input_arrays(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, context_length: Any, *,
    query_start: Any = None, scale: Optional[float] = None, softcap: float = 0.0,
    causal: bool = True, window: Optional[int] = None, alibi_slopes: Any = None, sinks: Any = None,
    k_scale: Any = None, v_scale: Any = None, layout: str = "token-major",
    q_type: Optional[str] = None, kv_type: Optional[str] = None,
) -> Dict[str, Any]:
    """The arrays of a case's file."""
    queries, q_type = _codes("q", q, q_type)
    keys, kv_type = _codes("k_cache", k_cache, kv_type)
    values, _ = _codes("v_cache", v_cache, kv_type)
    usual = 1.0 / float(np.sqrt(max(1, queries.shape[-1] if queries.ndim else 1)))
    arrays: Dict[str, Any] = {
        "q_type": np.str_(q_type), "kv_type": np.str_(kv_type), "layout": np.str_(layout),
        "q": queries, "k_cache": keys, "v_cache": values,
        "scale": np.float32(usual if scale is None else scale), "softcap": np.float32(softcap),
        "causal": np.bool_(causal), "window": np.int64(window or 0),
    }
    lists = (block_table, context_length, query_start)
    arrays.update(_converted(_LISTS, lists, np.int32))
    heads = (alibi_slopes, sinks, k_scale, v_scale)
    arrays.update(_converted(_HEADS, heads, np.float32))
    return arrays


def _converted(names: Any, values: Any, dtype: Any) -> Dict[str, Any]:
    made = {}
    for name, value in zip(names, values):
        if value is None:
            continue
        array = _numpy(value)
        if array.dtype.kind not in "iuf":
            raise UsageError(f"{name}: expected numbers, got {array.dtype}")
        array = np.ascontiguousarray(array, dtype)
        made[name] = array.reshape(1) if array.ndim == 0 else array
    return made


def _numpy(value: Any) -> "np.ndarray[Any, Any]":
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return np.asarray(value.detach().cpu().numpy())
    return np.asarray(value)


def _codes(name: str, value: Any, type_name: Optional[str]) -> "Tuple[np.ndarray[Any, Any], str]":
    """The codes of an array, and its element type, which its own type tells if it is no code."""
    array = _array_of(value)
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


def _array_of(value: Any) -> "np.ndarray[Any, Any]":
    """An array; of a tensor in bf16 or fp8, one of ml_dtypes or of codes."""
    if type(value).__module__.partition(".")[0] != "torch" or not hasattr(value, "detach"):
        return np.asarray(value)
    import torch

    tensor = value.detach().cpu().contiguous()
    for name in ("bf16", "e4m3", "e5m2"):
        if tensor.dtype != _types.torch_type(name):
            continue
        integers = torch.int16 if name == "bf16" else torch.uint8
        codes = tensor.view(integers).numpy().view(_types.code_type(name))
        return np.asarray(codes.view(_types.numpy_type(name)))
    return np.asarray(tensor.numpy())


def codes_of(name: str, value: Any, type_name: str) -> "np.ndarray[Any, Any]":
    """The codes of a result in `type_name`, or its numbers in fp32."""
    return _codes(name, value, type_name)[0]


def judge(
    arrays: Dict[str, Any], words: Dict[str, Any], more: Sequence[str] = ()
) -> Tuple[int, str, str]:
    """Runs the oracle on the arrays of a case, and on `out` if it is one of them: the exit code (1:
    it is wrong), what is wrong, and the same in a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "inputs.npz")
        np.savez(path, **arrays)
        flags = _filters.flags(words, ("bound", "numerics"))
        done = subprocess.run(
            [program("recto_kernels"), "oracle", path, *flags, *more], capture_output=True,
            text=True, stdin=subprocess.DEVNULL, check=False,
        )
    message = done.stderr.strip().partition("error: ")[2] or done.stderr.strip()
    message = _filters.in_python(message.replace(f"{path}: ", ""))
    if done.returncode == 2:
        raise UsageError(message)
    if done.returncode not in (0, 1):
        raise EngineFailed(f"the oracle ended by {signal_text(done.returncode)}: {message}")
    return done.returncode, done.stdout.strip(), message
