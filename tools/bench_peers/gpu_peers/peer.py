"""What a peer is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]


class Skipped(Exception):
    """Why a peer does not run a case: it is not installed, or does not support it."""


def as_it_is(out: Any) -> Any:
    return out


@dataclass
class Prepared:
    """A problem in a peer's own form. `call` is what is timed: it launches, and returns the output;
    `rows_of`, untimed, converts that to [num_seqs * rows, q_heads, head_dim].
    """

    call: Call
    rows_of: Callable[[Any], Any] = as_it_is


@dataclass(frozen=True)
class Peer:
    name: str
    what: str  # a one-line description
    # Takes a problem and, for peers that tune, a timer of a call in seconds if there is a GPU.
    prepare: Callable[[Any, Callable[[Call], float] | None], Prepared]
    package: str = "torch"  # that it needs, and whose version is reported
    needs_gpu: bool = False
    operations: tuple[str, ...] = ("decode", "prefill")

    def require(self, operation: str, device: str) -> None:
        if operation not in self.operations:
            raise Skipped(f"serves {' and '.join(self.operations)} alone")
        if self.needs_gpu and device == "cpu":
            raise Skipped("needs a GPU")
