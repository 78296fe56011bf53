"""Arrays over the arena, and whether they were kept after the call."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _types


class Memory:
    """The arena's bytes, at `base` in the engine's numbering of addresses."""

    def __init__(self, buffer: Any, base: int, num_bytes: int, file: int) -> None:
        self.buffer, self.base, self.num_bytes, self.file = buffer, base, num_bytes, file
        #: Where this process sees the first byte.
        self.address: int = np.frombuffer(buffer, np.uint8, 1).__array_interface__["data"][0]

    def array(
        self, pointer: int, dtype: Any, shape: Sequence[int], strides: Sequence[int]
    ) -> "np.ndarray[Any, Any]":
        """An array of `dtype` at the engine's address `pointer`; strides in elements."""
        dtype = np.dtype(dtype)
        return np.ndarray(
            tuple(shape), dtype, self.buffer, pointer - self.base,
            tuple(stride * dtype.itemsize for stride in strides),
        )


class Place:
    """Where an argument lies: enough to make its array, of codes or of numbers."""

    def __init__(
        self, pointer: int, type_name: str, shape: Sequence[int], strides: Sequence[int],
        is_written: bool = False,
    ) -> None:
        self.pointer, self.type_name = pointer, type_name
        self.shape, self.strides, self.is_written = tuple(shape), tuple(strides), is_written
        self.extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))


class Arguments:
    """The arrays of one call, by name. Each array is made when it is first asked for."""

    #: Of the call that is being answered.
    current: "Optional[Arguments]" = None

    def __init__(self, memory: Memory, places: Dict[str, Place]) -> None:
        Arguments.current = self
        self._memory: Optional[Memory] = memory
        self.places = places
        self._arrays: Dict[Tuple[str, bool], Any] = {}
        self._watched: List[Tuple[str, Any]] = []

    def array(self, name: str) -> "np.ndarray[Any, Any]":
        """An array of numbers, if NumPy or ml_dtypes has the type; writeable for results alone."""
        return self._made(name, False)

    def codes(self, name: str) -> "np.ndarray[Any, Any]":
        """An array of codes, writeable, for packages that do not take other arrays."""
        return self._made(name, True)

    def _made(self, name: str, as_codes: bool) -> "np.ndarray[Any, Any]":
        key = (name, as_codes)
        if key not in self._arrays:
            if self._memory is None:
                raise RuntimeError(
                    f"{name}: the call has ended, and its arrays with it; copy what you keep"
                )
            place = self.places[name]
            dtype = _dtype(place.type_name, as_codes)
            array = self._memory.array(place.pointer, dtype, place.shape, place.strides)
            if not place.is_written and not as_codes:
                array.flags.writeable = False
            self._arrays[key] = array
            self._watched.append((name, weakref.ref(array)))
        return self._arrays[key]

    def name_at(self, address: int) -> Optional[str]:
        """The argument that has this address of this process, if one has."""
        assert self._memory is not None  # during the call
        offset = address - self._memory.address
        if not 0 <= offset < self._memory.num_bytes:
            return None
        pointer = offset + self._memory.base
        for name, place in self.places.items():
            item = _dtype(place.type_name, True).itemsize
            if place.pointer <= pointer < place.pointer + max(1, place.extent * item):
                return name
        return "the call's memory"

    def end(self) -> List[str]:
        """Forgets all arrays; the names of those that something else still refers to."""
        self._memory = None
        Arguments.current = None
        self._arrays.clear()
        if any(reference() is not None for _, reference in self._watched):
            gc.collect()  # a cycle is no keeping
        kept = [name for name, reference in self._watched if reference() is not None]
        return list(dict.fromkeys(kept))


_INTEGERS: "Dict[str, np.dtype[Any]]" = {"int32": np.dtype(np.int32), "int64": np.dtype(np.int64)}


def _dtype(type_name: str, as_codes: bool) -> "np.dtype[Any]":
    if type_name in _INTEGERS:
        return _INTEGERS[type_name]
    return _types.code_type(type_name) if as_codes else _types.numpy_type(type_name)
