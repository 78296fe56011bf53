"""The simulator: recto fragmentation, simulate, plan and trace. Arguments are the flags of the
command line with "_" for "-", and the program checks them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from . import _programs
from ._programs import FilePath
from ._simulated import Fragmentation, Plan, Simulation, Trace

# Flags that change the form of the output.
_TAKEN = {
    "json": "results are objects; .data has the JSON",
    "ascii": "results are objects; print them",
    "help": "call help(recto), or run recto COMMAND --help",
    "list": "run recto plan --list, or pass a wrong name, which lists all",
    "list_models": "run recto plan --list-models",
    "list_gpus": "run recto plan --list-gpus",
    "runs": "results are objects; iterate over them",
    "collect": "results are objects; iterate over them",
}


def fragmentation(*, out: Optional[FilePath] = None, **flags: Any) -> Fragmentation:
    """Where every KV slot goes, for allocators and block sizes on one workload.

    >>> study = recto.fragmentation(requests=400, block_sizes=[16, 32], allocators=["paged"])
    >>> study.plot("pool_states")

    Args:
        out: a folder to keep the files in; report=True puts the page report.html there, too.
        flags: those of `recto fragmentation --help`: allocators, block_sizes, seeds, trace,
            workload, model, gpu, ...; lists for those of several values.

    Raises:
        UsageError: a flag or a value that the program refuses.
    """
    folder = Folder(out)
    text = run("fragmentation", {**flags, "out": folder.path})
    return Fragmentation(text, folder.path, folder)


def simulate(**flags: Any) -> Simulation:
    """What happens to memory, latency and throughput under one configuration.

    >>> recto.simulate(workload="agent", allocator="prefix-cached", ttft_limit_ms=500)

    Args:
        flags: those of `recto simulate --help`; with seeds=N results are means with 95 % intervals.
    """
    return Simulation(json.loads(run("simulate", flags, ["--json"])))


def plan(**flags: Any) -> Plan:
    """How many blocks, tokens and requests fit on a card.

    >>> recto.plan(model="Llama-3.1-8B", gpu="H100", length=[1024, 4096])

    Args:
        flags: those of `recto plan --help`.
    """
    return Plan(run("plan", flags), json.loads(run("plan", flags, ["--json"])))


def trace(file: FilePath, **flags: Any) -> Trace:
    """What is in a trace, and what a prefix cache or another block size could gain.

    Args:
        file: CSV or JSON lines, plain or gzip.
        flags: those of `recto trace --help`.
    """
    path = os.fspath(file)
    return Trace(json.loads(run("trace", flags, ["--json", "--", path])))


class Folder:
    """Where results lie: a folder of the caller's, or one that ends with the results."""

    def __init__(self, out: Optional[FilePath]) -> None:
        if out is not None:
            self.path = Path(out)
            return
        root = tempfile.mkdtemp(prefix="recto-")
        weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        self.path = Path(root) / "results"


def arguments_of(words: Dict[str, Any], repeats_lists: bool = False) -> List[str]:
    """The command line for these words."""
    for word in words:
        if word in _TAKEN:
            raise TypeError(f"{word}: no argument here: {_TAKEN[word]}")
    return _programs.flags(words, {}, repeats_lists)


def run(command: str, words: Dict[str, Any], more: Sequence[str] = ()) -> str:
    """What the command prints."""
    return _programs.run("recto", [command, *arguments_of(words), *more], {})[0]
