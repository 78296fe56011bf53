"""All peers in the order in which they are shown, and which of them are available."""

import importlib
from importlib import metadata

from .peer import Peer, Skipped

# The module of each, and what else it needs. Ratios are relative to the first peer that has a
# figure.
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
_DISTRIBUTIONS = {"flashinfer": "flashinfer-python", "flash_attn": "flash-attn"}


def find_peer(name: str) -> Peer:
    """Skipped, with the reason, if what it needs cannot be imported."""
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
    """The versions of what is installed."""
    versions = {}
    for name in ("torch", "triton", "flashinfer", "flash_attn", "vllm"):
        try:
            versions[name] = metadata.version(_DISTRIBUTIONS.get(name, name))
        except metadata.PackageNotFoundError:
            continue
    return versions


def one_line(error: BaseException) -> str:
    """Its kind and the first of its words."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
