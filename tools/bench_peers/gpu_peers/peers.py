"""The interface of a peer, all peers in the order of output, and which are available."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

Call = Callable[[], Any]

# The module of each. Ratios are relative to the first peer that has a figure.
_MODULES = {
    "sdpa": "torch_peers",
    "sdpa-cudnn": "torch_peers",
    "gather": "torch_peers",
    "flex": "flex_peer",
    "triton": "triton_peer",
    "flashinfer": "package_peers",
    "flashinfer-cuda-cores": "package_peers",
    "flash-attn": "package_peers",
    "vllm": "package_peers",
}
NAMES = tuple(_MODULES)
_DISTRIBUTIONS = {"torch": "torch", "triton": "triton", "flashinfer": "flashinfer-python",
                  "flash_attn": "flash-attn", "vllm": "vllm"}


class Skipped(Exception):
    """Why a peer does not run a case: it is not installed, or does not support it."""


@dataclass
class Prepared:
    """A problem in a peer's own form. `call` is timed: it launches, and returns the output;
    `rows_of`, untimed, converts the output to [num_seqs * rows, q_heads, head_dim].
    """

    call: Call
    rows_of: Callable[[Any], Any] = lambda out: out


@dataclass(frozen=True)
class Peer:
    name: str
    what: str  # a one-line description
    # Takes a problem and, for peers that tune, a timer of a call in seconds if there is a GPU.
    prepare: Callable[[Any, Callable[[Call], float] | None], Prepared]
    package: str = "torch"  # the required package, whose version is reported
    needs_gpu: bool = False
    operations: tuple[str, ...] = ("decode", "prefill")

    def require(self, operation: str, device: str) -> None:
        if operation not in self.operations:
            raise Skipped(f"serves {' and '.join(self.operations)} alone")
        if self.needs_gpu and device == "cpu":
            raise Skipped("needs a GPU")


def find_peer(name: str) -> Peer:
    """Raises Skipped, with the reason, if a required package cannot be imported."""
    try:
        module = importlib.import_module(f".{_MODULES[name]}", __package__)
        peer = next(peer for peer in module.PEERS if peer.name == name)
        importlib.import_module(peer.package)
    except ImportError as missing:
        raise Skipped(str(missing)) from missing
    except Exception as error:  # packages fail to load in various ways
        raise Skipped(f"cannot be loaded: {one_line(error)}") from error
    return peer


def package_versions() -> dict[str, str]:
    """The versions of installed packages."""
    versions = {}
    for name, distribution in _DISTRIBUTIONS.items():
        try:
            versions[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return versions


def one_line(error: BaseException) -> str:
    """The error's kind and its first line."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
