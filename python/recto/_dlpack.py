"""DLPack for arrays of any element type: NumPy's own has neither bf16 nor fp8.

https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, Tuple

# (DLDataTypeCode, bits); the codes of fp8 are since DLPack 1.1.
_TYPES = {
    "int32": (0, 32), "int64": (0, 64), "fp32": (2, 32), "fp16": (2, 16), "bf16": (4, 16),
    "e4m3": (10, 8), "e5m2": (12, 8),
}
_CPU = (1, 0)


class _Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
        ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


class _Managed(c.Structure):
    pass


_Deleter = c.CFUNCTYPE(None, c.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c.c_void_p), ("deleter", _Deleter)]

# What a consumer holds, by the address of its struct, until it calls the deleter.
_held: Dict[int, Tuple[Any, ...]] = {}


@_Deleter  # type: ignore[untyped-decorator,unused-ignore]
def _release(managed: Any) -> None:
    _held.pop(c.addressof(managed.contents), None)


_new_capsule = c.pythonapi.PyCapsule_New
_new_capsule.restype = c.py_object
_new_capsule.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]
_NAME = b"dltensor"


class Exported:
    """An array of codes, with `__dlpack__` and `__dlpack_device__`."""

    def __init__(self, array: Any, type_name: str) -> None:
        self._array, self._type_name = array, type_name
        self.shape = array.shape

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CPU

    def __dlpack__(self, stream: Any = None, **_versions: Any) -> Any:
        """A capsule of DLPack before 1.0, which every consumer takes. It shares the memory."""
        array = self._array
        code, bits = _TYPES[self._type_name]
        sizes = (c.c_int64 * max(1, array.ndim))(*array.shape)
        steps = (c.c_int64 * max(1, array.ndim))(*(n // array.itemsize for n in array.strides))
        data = array.__array_interface__["data"][0]
        managed = _Managed(
            _Tensor(data, *_CPU, array.ndim, code, bits, 1, sizes, steps, 0), None, _release
        )
        address = c.addressof(managed)
        _held[address] = (array, managed, sizes, steps)
        # A capsule without a consumer keeps the array until the call's end, which releases it.
        return _new_capsule(address, _NAME, None)
