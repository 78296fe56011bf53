"""Element types: their NumPy and torch counterparts, and codes as numbers.

NumPy has neither bf16 nor fp8. Where `ml_dtypes` is installed, arrays have its types; otherwise
they hold codes: uint16 for bf16 (the upper half of an fp32), uint8 for fp8.
"""

from __future__ import annotations

import functools
from typing import Any, Optional

import numpy as np

#: By RectoElementType.
TYPE_NAMES = ("fp32", "fp16", "bf16", "e4m3", "e5m2")
_CODE_TYPES = {"fp32": "f4", "fp16": "f2", "bf16": "u2", "e4m3": "u1", "e5m2": "u1"}
_ML_DTYPES = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
TORCH_NAMES = {"fp32": "float32", "fp16": "float16", **_ML_DTYPES}
# (exponent bits, mantissa bits, whether there are infinities)
_FP8 = {"e4m3": (4, 3, False), "e5m2": (5, 2, True)}


def _ml_dtype(name: str) -> "Optional[np.dtype[Any]]":
    try:
        import ml_dtypes
    except ImportError:
        return None
    found = getattr(ml_dtypes, _ML_DTYPES[name], None)
    return None if found is None else np.dtype(found)


@functools.lru_cache(maxsize=None)
def numpy_type(name: str) -> "np.dtype[Any]":
    """The type of arrays: ml_dtypes' where NumPy has none, or that of codes."""
    found = _ml_dtype(name) if name in _ML_DTYPES else None
    return code_type(name) if found is None else found


@functools.lru_cache(maxsize=None)
def code_type(name: str) -> "np.dtype[Any]":
    """The type of codes: float32, float16, uint16 or uint8."""
    return np.dtype(_CODE_TYPES[name])


def nan_code(name: str) -> Any:
    """A NaN, as `code_type` has it."""
    dtype = code_type(name)
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).max


def torch_type(name: str) -> Any:
    """The torch.dtype, or None in versions that lack it."""
    import torch

    return getattr(torch, TORCH_NAMES[name], None)


def is_tensor(value: Any) -> bool:
    """Whether it is one of torch's, which is not imported for that."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def array_of(value: Any) -> "np.ndarray[Any, Any]":
    """An array of something like an array; of a tensor, which is copied to the CPU if it is
    elsewhere, with bf16 and fp8 as `numpy_type` says."""
    if not is_tensor(value):
        return np.asarray(value)
    import torch

    tensor = value.detach().cpu()
    for name in _ML_DTYPES:
        if tensor.dtype == torch_type(name):
            codes = tensor.view(torch.int16 if name == "bf16" else torch.uint8)
            return np.asarray(codes.numpy().view(numpy_type(name)))
    return np.asarray(tensor.numpy())


def tensor_of(array: "np.ndarray[Any, Any]", name: str) -> Any:
    """A torch tensor over an array, of numbers or codes, of element type `name`. It is over a copy
    if the array is read-only, which tensors cannot be."""
    import torch

    array = array if array.flags.writeable else array.copy()
    if name not in _ML_DTYPES:
        return torch.from_numpy(array)
    codes = array.view(code_type(name))
    return torch.from_numpy(codes.view(np.int16) if name == "bf16" else codes).view(
        torch_type(name))


@functools.lru_cache(maxsize=None)
def _fp8_values(name: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
    exponent_bits, mantissa_bits, has_infinities = _FP8[name]
    codes = np.arange(256)
    exponent = codes >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = (codes & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    bias = (1 << exponent_bits - 1) - 1
    values = np.where(
        exponent == 0,
        np.ldexp(mantissa, 1 - bias),
        np.ldexp(1 + mantissa, np.maximum(exponent, 1) - bias),
    )
    if has_infinities:
        values[(exponent == (1 << exponent_bits) - 1) & (mantissa == 0)] = np.inf
        values[(exponent == (1 << exponent_bits) - 1) & (mantissa > 0)] = np.nan
    else:
        values[codes & 0x7F == 0x7F] = np.nan
    return np.where(codes < 128, values, -values).astype(np.float32)


def to_float32(array: "np.ndarray[Any, Any]", name: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """The numbers of an array of codes, or of ml_dtypes, of element type `name`; a copy."""
    codes = np.asarray(array).view(code_type(name))
    if name == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32)
    if name in _FP8:
        return _fp8_values(name)[codes]
    return codes.astype(np.float32)


def rounded_codes(values: "np.ndarray[Any, Any]", name: str) -> "np.ndarray[Any, Any]":
    """fp32 or fp64 numbers, rounded to nearest even, as codes of fp32, fp16 or bf16."""
    if name != "bf16":
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(code_type(name))
    with np.errstate(over="ignore", invalid="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + (bits >> 16 & 1)).astype(np.uint32)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)
