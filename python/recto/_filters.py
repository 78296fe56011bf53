"""Words of filters, as flags of the programs; declared numerics."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, Dict, List, Optional, Sequence

from . import _programs, _types
from ._errors import UsageError

#: The words of `verify`, `replay` and `cases`.
FILTERS = (
    "types", "layouts", "head_dims", "head_dim_multiple", "equal_head_dims", "groups",
    "block_sizes", "without", "require", "poison", "tails", "sinks_type", "scale", "scales",
    "kinds",
)
LIMITS = ("context_max", "sequences_max", "rows_max", "q_heads_max")
#: Of flags that take lists, and others.
RENAMED: _programs.Renamed = {
    "types": "type", "layouts": "layout", "head_dims": "head-dim", "groups": "group",
    "block_sizes": "block-size", "laws": "law", "operations": "op", "folder": "out",
}
#: Engines' name of a layout -> ours.
LAYOUTS = {"NHD": "token-major", "HND": "head-major", "v0": "packed"}
_LAYOUT_NAMES = {**LAYOUTS, **{ours: ours for ours in LAYOUTS.values()}}
_ALIASES = {**{theirs: ours for ours, theirs in _types.TORCH_NAMES.items()}, **LAYOUTS}


@dataclasses.dataclass(frozen=True)
class Numerics:
    """How a kernel computes, as far as its author declares it. What is not given is as in the
    profile of third-party kernels (docs/numerics.md). A declaration adds to the bound of an output
    what its rounding may add. In the worst case, with u = 2^-11 of fp16 and 2^-8 of bf16, that is a
    multiple of S, the sum of weight * |value| over all keys."""

    #: The type that the weights P are rounded to before the product with V: "fp32", "fp16", "bf16".
    #: Adds u S.
    p: Optional[str] = None
    #: The type that each product of a weight and a value is rounded to. Adds u S.
    products: Optional[str] = None
    #: The type in which partial results of splits are stored, before they are merged. Adds u S.
    partials: Optional[str] = None
    #: "approx" (the fast instruction), or "exact" (within one unit in the last place), which makes
    #: the bounds narrower.
    exp: Optional[str] = None
    #: The type in which scores and outputs are summed: "fp32", "fp16", "bf16". Adds u S for each
    #: addition.
    accumulate: Optional[str] = None
    #: "rounded": the weights are summed as they are rounded for the product with V. Adds u to lse,
    #: which the bounds do not have otherwise.
    sum: Optional[str] = None

    def _given(self) -> Dict[str, str]:
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if value is not None}

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self._given().items())
        return f"recto.Numerics({', '.join(fields)})"

    def __str__(self) -> str:
        """As the flag takes it: "p=bf16,products=bf16"; never empty."""
        return ",".join(f"{name}={value}" for name, value in self._given().items()) or "exp=approx"


def flags(words: Dict[str, Any], known: Sequence[str]) -> List[str]:
    """The flags for these words. TypeError for an unknown word."""
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            meant = f": did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise TypeError(f"{word!r} is no option{meant}")
    if not isinstance(words.get("numerics"), (Numerics, type(None))):
        raise TypeError(f"numerics: expected recto.Numerics(...), got {words['numerics']!r}")
    named = {word: _named(words[word]) for word in ("types", "layouts") if words.get(word)}
    return _programs.flags({**words, **named}, RENAMED)


def layout_named(layout: object) -> str:
    """Our name of a layout, of ours or an engine's. UsageError for others."""
    if not isinstance(layout, str) or layout not in _LAYOUT_NAMES:
        raise UsageError(f"layout: expected one of {', '.join(_LAYOUT_NAMES)}, got {layout!r}")
    return _LAYOUT_NAMES[layout]


def _named(values: Any) -> "List[str]":
    """Types and layouts as the programs name them, of NumPy's, torch's and engines' names."""
    texts = [values] if isinstance(values, str) else map(str, values)
    return ["/".join(_ALIASES.get(part.replace("torch.", ""), part) for part in text.split("/"))
            for text in ",".join(texts).split(",")]


def functions_of(**functions: Any) -> Dict[str, Any]:
    """Those that are given. TypeError unless one is, and each can be called."""
    given = {name: function for name, function in functions.items() if function is not None}
    if not given:
        raise TypeError("expected decode=, prefill= or kv_write=, got none of them")
    for name, function in given.items():
        if not callable(function):
            raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
    return given
