"""What a peer is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]


class Skipped(Exception):
    """Why a peer does not do a case: it is not installed, or does not serve it."""


def as_it_is(out: Any) -> Any:
    return out


@dataclass
class Prepared:
    """A problem in a peer's own form. `call` is what is timed: it launches, and gives the output;
    `rows_of` makes [num_seqs * rows, q_heads, head_dim] of that, untimed.
    """

    call: Call
    rows_of: Callable[[Any], Any] = as_it_is


@dataclass(frozen=True)
class Peer:
    name: str
    what: str  # one line for people
    # Of a problem, and what times a call in seconds where there is a GPU, for those who tune.
    prepare: Callable[[Any, Callable[[Call], float] | None], Prepared]
    package: str = "torch"  # that it needs, and whose version is told
    needs_gpu: bool = False
    operations: tuple[str, ...] = ("decode", "prefill")

    def require(self, operation: str, device: str) -> None:
        if operation not in self.operations:
            raise Skipped(f"serves {' and '.join(self.operations)} alone")
        if self.needs_gpu and device == "cpu":
            raise Skipped("needs a GPU")
