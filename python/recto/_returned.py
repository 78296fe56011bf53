"""Checks what a function returned, and stores it where the engine reads it."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

from . import _types
from ._call import AttentionCall, Call, KvWriteCall


class WrongResult(Exception):
    """What is wrong with the result, naming the argument; a failure of the case."""


def store(call: Call, result: Any) -> bool:
    """Stores the result of a call in its `out` and `lse_ln`. Returns whether it has an lse_ln.

    WrongResult if it is none, or has another shape, type or device, is a view of an argument, or is
    not contiguous.
    """
    if isinstance(call, KvWriteCall):
        if result is not None:
            raise WrongResult(
                "kv_write: expected None, because the caches are changed in place, got "
                + _described(result)
            )
        return False
    assert isinstance(call, AttentionCall)
    out, lse_ln = _parts(result)
    _store_one(call, "out", out)
    if lse_ln is None:
        return False
    _store_one(call, "lse_ln", lse_ln)
    return True


def _parts(result: Any) -> Tuple[Any, Optional[Any]]:
    if result is None:
        raise WrongResult("out: expected an array, got None: does the function return its result?")
    is_pair = isinstance(result, list) and len(result) == 2 and hasattr(result[0], "shape")
    if not isinstance(result, tuple) and not is_pair:
        return result, None
    if len(result) != 2:
        raise WrongResult(f"result: expected out or (out, lse_ln), got {len(result)} values")
    return result[0], result[1]


def _store_one(call: AttentionCall, name: str, value: Any) -> None:
    target = call._arguments.codes(name)
    if value is call._arguments.array(name):
        return  # written in place
    array = _as_numpy(call, name, value)
    if array.shape != target.shape:
        raise WrongResult(
            f"{name}: expected shape {_shape(target.shape)}, got {_shape(array.shape)}"
        )
    type_name = "fp32" if name == "lse_ln" else call.q_type
    codes = _codes(name, array, type_name)
    address = array.__array_interface__["data"][0]
    starts_there = address == target.__array_interface__["data"][0]
    if starts_there and array.strides == target.strides:
        return  # a tensor over the call's own result
    if array.size and not array.flags.c_contiguous:
        raise WrongResult(
            f"{name}: expected a contiguous array, got strides {array.strides} of shape "
            f"{_shape(array.shape)}: numpy.ascontiguousarray() or .contiguous() makes one"
        )
    of = call._arguments.name_at(address) if array.size else None
    if of is not None:
        raise WrongResult(f"{name}: expected memory of its own, got a view of {of}")
    target[...] = codes


def _as_numpy(call: Call, name: str, value: Any) -> "np.ndarray[Any, Any]":
    is_array = hasattr(value, "__array__") and not np.isscalar(value)  # JAX, CuPy on the host, ...
    if _types.is_tensor(value):
        _check_tensor(call, name, value)
    elif not is_array:
        raise WrongResult(f"{name}: expected a NumPy array or a tensor, got {_described(value)}")
    try:
        return _types.array_of(value)
    except Exception as error:
        raise WrongResult(f"{name}: expected an array, got {_described(value)}: {error}") from None


def _check_tensor(call: Call, name: str, tensor: Any) -> None:
    if tensor.device.type not in ("cpu", call._returned_device):
        raise WrongResult(
            f"{name}: expected a tensor on the CPU, got one on {tensor.device}: call.torch(device) "
            "gives arguments, and takes results, there"
        )
    if not str(tensor.layout).endswith("strided"):
        raise WrongResult(f"{name}: expected a dense tensor, got the layout {tensor.layout}")


def _codes(name: str, array: "np.ndarray[Any, Any]", type_name: str) -> "np.ndarray[Any, Any]":
    """The codes of an array of the type itself, or of fp32 or fp64 numbers, which are rounded."""
    own = (_types.numpy_type(type_name), _types.code_type(type_name))
    if array.dtype in own:
        return array.view(_types.code_type(type_name))
    if array.dtype in (np.float32, np.float64):
        return _types.rounded_codes(array, type_name)
    wanted = " or ".join(dict.fromkeys([str(own[0]), "float32", "float64"]))
    of_q = f" for q in {type_name}" if name == "out" else ""
    raise WrongResult(f"{name}: expected {wanted}{of_q}, got {array.dtype}")


def _shape(shape: Tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _described(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{type(value).__name__} of {value.dtype} {_shape(tuple(value.shape))}"
    return type(value).__name__
