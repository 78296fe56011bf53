"""Tensors in memory, written the way their shapes are documented: nested loops over named axes,
outermost first, that append one element after the other.

Strides are measured on the written storage (its growth in one step of an axis), so no formula
computes the place of an element.
"""

from dataclasses import dataclass, field
from typing import Callable, Iterator

Coordinates = dict[str, int]


@dataclass(frozen=True)
class Axis:
    name: str
    size: int
    padding: int = 0  # elements of garbage after each step


@dataclass(eq=False)  # storages are compared by identity
class Storage:
    codes: list[int] = field(default_factory=list)
    strides: dict[str, int] = field(default_factory=dict)  # by axis, in elements
    # Where each tensor of each layer in this storage begins.
    first: dict[tuple[int, int], int] = field(default_factory=dict)


def lay_out(axes: list[Axis], code_at: Callable[[Coordinates], int],
            garbage: Iterator[int]) -> Storage:
    storage = Storage()

    def walk(depth: int, at: Coordinates) -> None:
        if depth == len(axes):
            tensor_of_layer = (at.get("tensor", 0), at.get("layer", 0))
            storage.first.setdefault(tensor_of_layer, len(storage.codes))
            storage.codes.append(code_at(at))
            return
        axis = axes[depth]
        for index in range(axis.size):
            begin = len(storage.codes)
            walk(depth + 1, {**at, axis.name: index})
            storage.codes.extend(next(garbage) for _ in range(axis.padding))
            storage.strides.setdefault(axis.name, len(storage.codes) - begin)

    walk(0, {})
    return storage


Token = list[list[int]]  # codes [head][dim]


def lay_out_pool(nesting: str, sizes: dict[str, int], padding: dict[str, int],
                 token_at: Callable[[Coordinates], Token | None],
                 garbage: Iterator[int]) -> Storage:
    """A pool of tokens, and garbage where there is none. `sizes` has the lanes of a pack."""
    dims = range(sizes["dim"])
    packs = [dims[first : first + sizes["lane"]] for first in dims[:: sizes["lane"]]]

    def code_at(at: Coordinates) -> int:
        token = token_at(at)
        if token is None:
            return next(garbage)
        return token[at["head"]][packs[at["pack"]][at["lane"]] if "pack" in at else at["dim"]]

    sizes = {**sizes, "pack": len(packs)}
    axes = [Axis(name, sizes[name], padding.get(name, 0)) for name in nesting.split()]
    return lay_out(axes, code_at, garbage)


def strides_of(storage: Storage) -> dict[str, int]:
    return {f"{axis}_stride": storage.strides[axis] for axis in ("block", "head", "slot")}


def pack_strides_of(storage: Storage, side: int, lanes: int) -> dict[str, int]:
    """Pack strides of a packed pool. `side`: K, or V, whose packs hold a single dim."""
    return {"pack_width": (lanes, 1)[side],
            "pack_stride": storage.strides[("pack", "dim")[side]]}


# The documented shapes of K and of V. `lane` is the dim within a pack.
NESTINGS = {
    "token-major": ("block slot head dim", "block slot head dim"),
    "head-major": ("block head slot dim", "block head slot dim"),
    "packed": ("block head pack slot lane", "block head dim slot"),
}
