"""Which figures each kind of results has."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

from . import grid_figures, map_figures, memory_figures
from .result_files import BadInput, NoReport, read_fragmentation, read_json, read_simulation

EXPECTED = ("what recto fragmentation, sweep or numerics wrote with --out, or reports of "
            "recto simulate --json")


class Picture(NamedTuple):
    name: str  # of its files, without suffix
    draw: Callable  # returns the figure, or None if there is nothing to draw
    foot: str


def fragmentation_pictures(folder: Path) -> Iterator[Picture]:
    source, runs, data = read_fragmentation(folder)
    for draw in (map_figures.memory_map, map_figures.latency_distributions):
        yield Picture(draw.__name__, partial(draw, data, runs), source.foot(True))
    for name, draw in memory_figures.FIGURES.items():
        yield Picture(name, partial(draw, runs), source.foot(name in memory_figures.OVER_TIME))


def sweep_pictures(folder: Path) -> Iterator[Picture]:
    source, table, axes = grid_figures.read_sweep(folder)
    drawn = [axis for axis in axes if table[axis].nunique() > 1]
    if not drawn:
        raise BadInput(f"{folder}: found no axis with two values that succeeded; there is nothing "
                       "to draw over")
    for axis in drawn:
        yield Picture(f"over_{axis}", partial(grid_figures.sweep, table, axes, axis), source.foot())


def numerics_pictures(folder: Path) -> Iterator[Picture]:
    source, sharpness, thresholds = grid_figures.read_numerics(folder)
    yield Picture("sharpness", partial(grid_figures.sharpness, sharpness), source.foot())
    yield Picture("thresholds", partial(grid_figures.thresholds, thresholds), source.foot())


def simulation_pictures(path: Path) -> Iterator[Picture]:
    source, run = read_simulation(path)
    for name, draw in memory_figures.FIGURES.items():
        yield Picture(f"{path.stem}_{name}", partial(draw, [run]), source.foot())


BY_COMMAND = {"fragmentation": fragmentation_pictures, "sweep": sweep_pictures,
              "numerics": numerics_pictures}


def pictures_of(folder: Path) -> Iterator[Picture]:
    if not folder.is_dir():
        raise BadInput(f"{folder}: is not a folder; expected one with {EXPECTED}")
    manifest = folder / "manifest.json"
    command = read_json(manifest).get("command") if manifest.exists() else None
    if isinstance(command, str) and command in BY_COMMAND:
        yield from BY_COMMAND[command](folder)
    for path in sorted(folder.glob("*.json")):
        if path == manifest or read_json(path).get("written_by") == "recto report":
            continue
        try:
            yield from simulation_pictures(path)
        except NoReport as reason:
            print(f"recto: {path} is left out: {reason}", file=sys.stderr)
