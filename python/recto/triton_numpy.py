"""Triton's interpreter on NumPy arrays, without PyTorch.

>>> kernel[grid](Tensor(x), Tensor(y), len(x), BLOCK=128)       # with TRITON_INTERPRET=1

The interpreter computes with NumPy on addresses. Of a tensor it asks its address and element type,
and for a copy on the host and back: a `Tensor` is on the host, so it is its own copy.
"""

from __future__ import annotations

from typing import Any, Tuple


class Tensor:
    """A NumPy array, in fp32, fp16 or integers, as an argument of a kernel under the interpreter.
    The kernel writes to the array itself; strides are arguments of their own."""

    def __init__(self, array: Any) -> None:
        self._array = array  # keeps its memory
        self.dtype: str = array.dtype.name  # "float32", as in the name torch.float32
        self.shape: Tuple[int, ...] = array.shape

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def size(self) -> Tuple[int, ...]:
        return self.shape

    def stride(self) -> Tuple[int, ...]:
        return tuple(step // self._array.itemsize for step in self._array.strides)

    def storage_offset(self) -> int:
        return 0

    def _itself(self, *_: Any, **__: Any) -> Tensor:
        return self

    # The copy on the host.
    untyped_storage = cpu = new_empty = set_ = copy_ = _itself
