"""GPU kernels as their compilers emit them (PTX), run on this machine with every access checked.

>>> scale = recto.ptx.Module("kernel.ptx").kernel("scale")
>>> scale[4, 128](x, 2.0)                      # grid, block; arrays are read and written in place

A kernel that does something wrong raises `KernelFault`, whose text is the finding. A function given
to `recto.verify` may call kernels: what they do wrong is then a failure with its case.
"""

from __future__ import annotations

import operator
import os
import struct
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._memory import Arguments
from ._ptx_process import Piece, PtxProcess, Span

__all__ = ["Kernel", "KernelFault", "Launcher", "Module", "Parameter", "unwritten"]

Dims = Union[int, Sequence[int]]

_POLICIES = ("in-order", "reverse", "random-warp", "random-thread")
_CHECKS = ("races", "uninitialised-memory", "undefined-registers")
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


class KernelFault(RuntimeError):
    """What a kernel did wrong: out of bounds, races, barriers, uninitialised memory, ...

    `findings`: list of str, the text of each.
    """

    def __init__(self, findings: Sequence[str], how: str) -> None:
        super().__init__("\n".join(findings) + f"\n({how})")
        self.findings = list(findings)


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


class Module:
    """A PTX module: a file, its text (str or bytes), or a kernel that Triton has compiled.

    `checks`: names of "races", "uninitialised-memory" and "undefined-registers"; True: all of them.
    Bounds, alignment and barriers are always checked.
    `policy`: the order of threads, "in-order", "reverse", "random-warp" or "random-thread"; each
    launch has the next `seed`.
    `equal_stores`: threads may store one value to one place, as Triton's warps do (its default).

    ValueError: it is not PTX; the message has the line. TypeError: it is none of these.
    """

    def __init__(self, source: Any, *, checks: "Union[bool, Sequence[str]]" = True,
                 policy: str = "random-warp", seed: int = 0, equal_stores: Any = None) -> None:
        names = list(_CHECKS if checks is True else checks or ())
        if not set(names) <= set(_CHECKS):
            raise ValueError(f"checks: expected names of {', '.join(_CHECKS)}, got {checks!r}")
        if policy not in _POLICIES:
            raise ValueError(f"policy: expected one of {', '.join(_POLICIES)}, got {policy!r}")
        self.checks, self.policy, self.seed = names, policy, operator.index(seed)
        is_compiled = isinstance(getattr(source, "asm", None), dict)  # by triton.compile
        self.equal_stores = is_compiled if equal_stores is None else bool(equal_stores)
        self._metadata = getattr(source, "metadata", None) if is_compiled else None
        self._text, self._path = _text_of(source.asm["ptx"] if is_compiled else source)
        self._loaded: "Optional[Tuple[PtxProcess, int]]" = None
        self._parameters: Dict[str, List[Parameter]] = {}
        self._number()

    @property
    def kernels(self) -> "Tuple[str, ...]":
        """The names of its kernels."""
        return tuple(self._parameters)

    def kernel(self, name: Optional[str] = None) -> "Kernel":
        """The kernel with this name, or the only one whose name has this part; None: the only one.

        ValueError: there is none, or several.
        """
        found = [each for each in self.kernels if name is None or name in each]
        if name in self._parameters:
            found = [str(name)]
        if len(found) != 1:
            known = ", ".join(self.kernels) or "no kernels"
            raise ValueError(f"kernel {name!r}: expected one of {known}")
        return Kernel(self, found[0], self._parameters[found[0]])

    def _number(self) -> "Tuple[PtxProcess, int]":
        """The process that has it, and its number there."""
        process = PtxProcess.current()
        if self._loaded is None or self._loaded[0] is not process:
            answer = process.load(self._text, self._path)
            self._loaded = process, answer["module"]
            self._parameters = {
                kernel["name"]: [Parameter(each["name"], each["type"], each["bytes"])
                                 for each in kernel["parameters"]]
                for kernel in answer["kernels"]
            }
        return self._loaded


class Kernel:
    """A kernel of a module. `kernel[grid, block]` launches it."""

    def __init__(self, module: Module, name: str, parameters: List[Parameter]) -> None:
        self._module, self.name, self.parameters = module, name, parameters

    def __getitem__(self, dims: "Tuple[Dims, Optional[Dims]]") -> "Launcher":
        """`grid` and `block`: an int, or up to three, x first. `block` None: as Triton chose."""
        if not isinstance(dims, tuple) or len(dims) != 2:
            raise ValueError("expected kernel[grid, block], each a number or up to three")
        grid, block = dims
        if block is None:
            if self._module._metadata is None:
                raise ValueError("block: expected an integer or up to three, got None, which needs "
                                 "a kernel that Triton has compiled, with its metadata")
            block = 32 * self._module._metadata.num_warps
        return Launcher(self, _dims("grid", grid), _dims("block", block))


class Launcher:
    """A kernel with its grid and thread block."""

    def __init__(self, kernel: Kernel, grid: List[int], block: List[int]) -> None:
        self._kernel, self._grid, self._block = kernel, grid, block

    def __call__(self, *arguments: Any, shared: Any = None, cooperative: bool = False) -> None:
        """Launches the kernel and waits for it.

        `arguments`: for each parameter, an array (NumPy, or a tensor in host memory) for a pointer,
        or a number; for a struct a tuple of its fields (arrays and NumPy numbers), or bytes. None
        is a null pointer, and may be left out at the end. Arrays that are not writeable are
        read-only for the kernel; views that overlap are one buffer. `shared`: bytes of dynamic
        shared memory; None: as Triton chose, or 0. `cooperative`: all thread blocks run at once.

        KernelFault: the kernel does something wrong. ValueError: an argument does not fit.
        """
        kernel, module = self._kernel, self._kernel._module
        shared = getattr(module._metadata, "shared", 0) if shared is None else shared
        passed, spans = _passed(kernel, arguments)
        seed, module.seed = module.seed, module.seed + 1
        process, number = module._number()
        request = {"module": number, "kernel": kernel.name, "grid": self._grid,
                   "block": self._block, "shared": operator.index(shared),
                   "is_cooperative": bool(cooperative), "equal_stores": module.equal_stores,
                   "checks": module.checks, "policy": module.policy, "seed": seed}
        answer = process.launch(request, spans, passed)
        sys.stdout.write(answer["printed"])
        if answer["findings"]:
            raise KernelFault(answer["findings"], f"policy {module.policy}, seed {seed}")


def _text_of(source: Any) -> "Tuple[bytes, str]":
    """The text, without the zero that ends NVRTC's, and a name for messages: a file's path."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "\n" not in source):
        with open(source, "rb") as file:
            return file.read(), f"{os.fspath(source)}: "
    if not isinstance(source, (str, bytes, bytearray)):
        raise TypeError(f"expected a path, PTX or Triton's kernel, got {type(source).__name__}")
    return (source.encode() if isinstance(source, str) else bytes(source)).rstrip(b"\0"), ""


def _dims(name: str, dims: Any) -> "List[int]":
    try:
        listed = [*map(operator.index, dims if isinstance(dims, (tuple, list)) else [dims])]
    except TypeError:
        listed = []
    if not 1 <= len(listed) <= 3 or any(not 0 <= each < 1 << 32 for each in listed):
        raise ValueError(f"{name}: expected an integer or up to three, got {dims!r}")
    return listed + [1] * (3 - len(listed))


def _passed(kernel: Kernel, arguments: Sequence[Any]) -> "Tuple[List[List[Piece]], List[Span]]":
    """The pieces of each parameter, and the memory that arrays have."""
    parameters, given = kernel.parameters, len(arguments)
    if given > len(parameters):
        raise ValueError(f"{kernel.name}: expected {len(parameters)} arguments, got {given}")
    spans: "List[Span]" = []
    passed: "List[List[Piece]]" = []
    for i, parameter in enumerate(parameters):
        value = arguments[i] if i < given else None
        where = f"{kernel.name}: argument {i} ({parameter.type})"
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
        passed.append(pieces)
    return passed, spans


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
