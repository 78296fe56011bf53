"""The arguments of a launch: arrays, numbers and structs, as the kernel's parameters have them."""

from __future__ import annotations

import struct
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from ._memory import Arguments
from ._ptx_process import Piece, Span

_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    type: str  #: "u64", "f32"; "b8" is a struct
    num_bytes: int

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"


class _Unwritten:
    def __init__(self, array: Any) -> None:
        self.array = array


def unwritten(array: Any) -> Any:
    """Marks an array of a launch that holds nothing yet: reads before writes are findings."""
    return _Unwritten(array)


def passed(
    kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]
) -> "Tuple[List[List[Piece]], List[Span]]":
    """The pieces of each parameter, and the memory that arrays have."""
    given = len(arguments)
    if given > len(parameters):
        raise ValueError(f"{kernel}: expected {len(parameters)} arguments, got {given}")
    spans: "List[Span]" = []
    result: "List[List[Piece]]" = []
    for i, parameter in enumerate(parameters):
        value = arguments[i] if i < given else None
        where = f"{kernel}: argument {i} ({parameter.type})"
        if value is None and parameter.type not in ("u64", "b64"):
            raise ValueError(f"{where}: expected a value")
        if isinstance(value, (tuple, list)):
            pieces = _struct_of(f"argument {i}", value, spans)
        else:
            pieces = [_piece_of(f"argument {i}", value, spans)
                      if value is None or _is_array(value)
                      else _bytes_of(where, value, parameter)]
        size = sum(8 if isinstance(piece, int) else len(piece) for piece in pieces)
        if size != parameter.num_bytes:
            raise ValueError(f"{where}: expected {parameter.num_bytes} bytes, got {size}")
        result.append(pieces)
    return result, spans


def _is_array(value: Any) -> bool:
    value = value.array if isinstance(value, _Unwritten) else value
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")


def _piece_of(name: str, value: Any, spans: "List[Span]") -> Piece:
    """A pointer: to an array, whose memory becomes a span, or null."""
    if value is None:
        return bytes(8)
    span, address = _span_of(name, value)
    if span.num_bytes == 0:
        return bytes(8)
    spans.append(span)
    return address


def _struct_of(name: str, fields: Sequence[Any], spans: "List[Span]") -> "List[Piece]":
    """The fields of a struct, as C lays them out: each is aligned to its size."""
    pieces: "List[Piece]" = []
    size, alignment = 0, 1
    for i, field in enumerate(fields):
        where = f"{name}, field {i}"
        if field is None or _is_array(field):
            piece, own, unit = _piece_of(where, field, spans), 8, 8
        elif isinstance(field, (np.generic, bytes)):
            piece = field if isinstance(field, bytes) else field.tobytes()
            own, unit = len(piece), 1 if isinstance(field, bytes) else len(piece)
        else:
            raise ValueError(f"{where}: expected an array, None, bytes or a NumPy number, such as "
                             f"np.int32(1), got {type(field).__name__}")
        gap = -size % unit
        pieces += [bytes(gap), piece] if gap else [piece]
        size, alignment = size + gap + own, max(alignment, unit)
    return [*pieces, bytes(-size % alignment)]


def _span_of(name: str, value: Any) -> "Tuple[Span, int]":
    """The memory of an array or tensor, and the address of its first element."""
    is_unwritten = isinstance(value, _Unwritten)
    array = value.array if isinstance(value, _Unwritten) else value
    if isinstance(array, np.ndarray):
        if array.dtype.hasobject:
            raise ValueError(f"{name}: expected numbers, got an array of Python objects")
        address = array.__array_interface__["data"][0]
        item, strides = array.itemsize, array.strides
        is_written = array.flags.writeable
    else:
        if str(array.device) != "cpu":
            raise ValueError(f"{name}: expected a tensor in host memory, got {array.device}")
        address, item = array.data_ptr(), array.element_size()
        strides = tuple(item * each for each in array.stride())
        is_written = True
    extents = [(n - 1) * stride for n, stride in zip(array.shape, strides)]
    below, above = sum(min(0, each) for each in extents), sum(max(0, each) for each in extents)
    size = 0 if 0 in tuple(array.shape) else above - below + item
    known = None
    if Arguments.current is not None:
        known = Arguments.current.name_at(address)
        # Tensors do not say that they are over an input, which a fork cannot write to.
        place = Arguments.current.places.get(known or "")
        is_written = is_written and (place is None or place.is_written)
    return Span(known or name, address + below, size, is_written, is_unwritten), address


def _bytes_of(where: str, value: Any, parameter: Parameter) -> bytes:
    """A number or struct as the parameter has it."""
    size = parameter.num_bytes
    if isinstance(value, np.generic) and not isinstance(value, float):
        value = value.tobytes()
    if isinstance(value, (bytes, bytearray, memoryview)):
        if len(bytes(value)) != size:
            raise ValueError(f"{where}: expected {size} bytes, got {len(bytes(value))}")
        return bytes(value)
    try:
        if parameter.type in _FLOATS and isinstance(value, (int, float)):
            return struct.pack(_FLOATS[parameter.type], float(value))
        if isinstance(value, (bool, int)) and parameter.type != "b8":
            return int(value).to_bytes(size, "little", signed=value < 0)
    except (OverflowError, struct.error) as error:
        raise ValueError(f"{where}: {value!r}: {error}") from error
    raise ValueError(f"{where}: expected a number or {size} bytes, got {type(value).__name__}")
