"""GPU kernels as their compilers emit them (PTX), run on this machine with every access checked.

>>> scale = recto.ptx.Module("kernel.ptx").kernel("scale")
>>> scale[4, 128](x, 2.0)                      # grid, block; arrays are read and written in place

A kernel that does something wrong raises `KernelFault`, whose text is the finding. A function given
to `recto.verify` may call kernels: what they do wrong is then a failure with its case.
"""

from __future__ import annotations

import operator
import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._ptx_arguments import Parameter, passed, unwritten
from ._ptx_process import PtxProcess

__all__ = ["Counters", "Kernel", "KernelFault", "Launcher", "Module", "Parameter", "unwritten"]

Dims = Union[int, Sequence[int]]

_POLICIES = ("in-order", "reverse", "random-warp", "random-thread")
_CHECKS = ("races", "uninitialised-memory", "undefined-registers")


class KernelFault(RuntimeError):
    """What a kernel did wrong: out of bounds, races, barriers, uninitialised memory, ...

    `findings`: list of str, the text of each.
    """

    def __init__(self, findings: Sequence[str], how: str) -> None:
        super().__init__("\n".join(findings) + f"\n({how})")
        self.findings = list(findings)


class Counters(NamedTuple):
    """What a launch executed; of PTX, not of the machine's instructions."""

    instructions: int  #: of warps
    by_kind: Dict[str, int]  #: "load", "mma", "barrier", ...: instructions; "arithmetic": others
    global_bytes: int  #: that loads and stores asked for
    global_sectors: int  #: of 32 bytes, that each load or store of a warp touched
    bank_conflicts: int  #: passes over shared memory beyond the first of each access


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
        #: Whether approximate instructions (ex2, rcp, tanh, ...) are off by up to their documented
        #: errors, as the seed chooses, in place of being as accurate as they can be.
        self.approximate = False
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

    def __call__(self, *arguments: Any, shared: Any = None, cooperative: bool = False,
                 cluster: "Optional[Dims]" = None) -> None:
        """Launches the kernel and waits for it.

        `arguments`: for each parameter, an array (NumPy, or a tensor in host memory) for a pointer,
        or a number; for a struct a tuple of its fields (arrays and NumPy numbers), or bytes. None
        is a null pointer, and may be left out at the end. Arrays that are not writeable are
        read-only for the kernel; views that overlap are one buffer. `shared`: bytes of dynamic
        shared memory; None: as Triton chose, or 0. `cooperative`: all thread blocks run at once.
        `cluster`: thread blocks of a cluster, an int or up to three; None: as the kernel's own
        directive or Triton says, or 1.

        KernelFault: the kernel does something wrong. ValueError: an argument does not fit.
        """
        self._launch(arguments, shared, cooperative, cluster, counts=False)

    def count(self, *arguments: Any, shared: Any = None, cooperative: bool = False,
              cluster: "Optional[Dims]" = None) -> Counters:
        """Launches the kernel likewise, more slowly, and returns what it executed."""
        return Counters(**self._launch(arguments, shared, cooperative, cluster, counts=True))

    def _launch(self, arguments: Sequence[Any], shared: Any, cooperative: bool,
                cluster: "Optional[Dims]", counts: bool) -> "Dict[str, Any]":
        kernel, module = self._kernel, self._kernel._module
        if cluster is None:
            cluster = getattr(module._metadata, "cluster_dims", None) or 1
        shared = getattr(module._metadata, "shared", 0) if shared is None else shared
        pieces, spans = passed(kernel.name, kernel.parameters, arguments)
        seed, module.seed = module.seed, module.seed + 1
        process, number = module._number()
        request = {"module": number, "kernel": kernel.name, "grid": self._grid,
                   "block": self._block, "shared": operator.index(shared),
                   "cluster": _dims("cluster", cluster), "is_cooperative": bool(cooperative),
                   "equal_stores": module.equal_stores, "checks": module.checks,
                   "policy": module.policy, "seed": seed, "counts": counts,
                   "is_perturbed": module.approximate}
        answer = process.launch(request, spans, pieces)
        sys.stdout.write(answer["printed"])
        if answer["findings"]:
            raise KernelFault(answer["findings"], f"policy {module.policy}, seed {seed}")
        counters: Dict[str, Any] = answer["counters"]
        return counters


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
