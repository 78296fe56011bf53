"""Words of filters, as flags of the programs; declared numerics."""

from __future__ import annotations

import dataclasses
import difflib
import re
from typing import Any, Dict, List, Optional, Sequence

#: Python's word -> the flag. The words of `verify`, `replay` and `cases`.
FILTERS: Dict[str, str] = {
    "types": "--type",
    "layouts": "--layout",
    "head_dims": "--head-dim",
    "head_dim_multiple": "--head-dim-multiple",
    "equal_head_dims": "--equal-head-dims",
    "groups": "--group",
    "block_sizes": "--block-size",
    "without": "--without",
    "require": "--require",
    "poison": "--poison",
    "tails": "--tails",
    "sinks_type": "--sinks-type",
    "scale": "--scale",
    "scales": "--scales",
    "kinds": "--kinds",
}
LIMITS: Dict[str, str] = {
    "context_max": "--context-max",
    "sequences_max": "--sequences-max",
    "rows_max": "--rows-max",
    "q_heads_max": "--q-heads-max",
}
_RUN: Dict[str, str] = {
    "laws": "--law", "cases": "--cases", "seconds": "--seconds", "seed": "--seed",
    "bound": "--bound", "failures": "--failures", "fail_fast": "--fail-fast", "folder": "--out",
    "batch_invariant": "--batch-invariant", "time_limit": "--time-limit", "numerics": "--numerics",
    "operations": "--op",
}
_WORDS = {**FILTERS, **LIMITS, **_RUN}


@dataclasses.dataclass(frozen=True)
class Numerics:
    """How a kernel computes, as far as its author declares it. What is not given is as in the
    profile of third-party kernels (reference/numerics.h). Each declaration adds to the bounds what
    its rounding may add."""

    #: The type that the weights P are rounded to before the product with V: "fp32", "fp16", "bf16".
    p: Optional[str] = None
    #: The type that each product of a weight and a value is rounded to.
    products: Optional[str] = None
    #: The type in which partial results of splits are stored, before they are merged.
    partials: Optional[str] = None
    #: "approx" (the fast instruction), or "exact" (correct to one unit in the last place).
    exp: Optional[str] = None
    #: The type in which scores and outputs are summed: "fp32", "fp16", "bf16".
    accumulate: Optional[str] = None

    def __str__(self) -> str:
        given = dataclasses.asdict(self)
        fields = (f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"Numerics({', '.join(fields)})"

    def text(self) -> str:
        """As the flag takes it: "p=bf16,products=bf16"."""
        given = dataclasses.asdict(self)
        return ",".join(f"{name}={value}" for name, value in given.items() if value is not None)


def flags(words: Dict[str, Any], known: Sequence[str]) -> List[str]:
    """The flags of a program for these words; those that are None are left out.

    TypeError for an unknown word.
    """
    made: List[str] = []
    for word, value in words.items():
        if word not in known:
            raise TypeError(f"{word!r} is no option{_meant(word, known)}")
        if value is None or value is False:
            continue
        made.append(_WORDS[word])
        if value is not True:
            made.append(_text(word, value))
    return made


def _meant(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f": did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"


def _text(word: str, value: Any) -> str:
    if isinstance(value, Numerics):
        return value.text()
    if isinstance(value, (list, tuple, set, frozenset)):
        if not value:
            raise ValueError(f"{word}: expected one value at least, got none; None stands for all")
        return ",".join(str(each) for each in value)
    return str(value)


def in_python(message: str) -> str:
    """A program's message, with Python's words for its flags."""
    by_flag = {flag: word for word, flag in _WORDS.items()}
    return re.sub(
        r"--[a-z][a-z-]*", lambda match: by_flag.get(match.group(), match.group()), message
    )


def functions_of(**functions: Any) -> Dict[str, Any]:
    """Those that are given. TypeError unless one is, and each can be called."""
    given = {name: function for name, function in functions.items() if function is not None}
    if not given:
        raise TypeError("expected decode=, prefill= or kv_write=, got none of them")
    for name, function in given.items():
        if not callable(function):
            raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
    return given
