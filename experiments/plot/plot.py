#!/usr/bin/env python3
"""Draws what recto's commands wrote, as PNG and SVG. `recto plot` runs it.

    plot.py DIR --out DIR
"""

import argparse
import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

sys.dont_write_bytecode = True
# The path as typed, not resolved: these files may be links.
sys.path.insert(0, str(Path(__file__).parent))

import grid_figures  # noqa: E402
import map_figures  # noqa: E402
import memory_figures  # noqa: E402
import style  # noqa: E402
from result_files import (  # noqa: E402
    BadInput,
    NoReport,
    read_fragmentation,
    read_json,
    read_simulation,
)

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


def draw_all(pictures: list[Picture], out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out: {out}: cannot make this folder: {error.strerror}; expected a "
                       "folder, or a path where one can be made") from error
    for picture in pictures:
        style.set_up()
        figure = picture.draw()
        if figure is not None:
            print(*style.save(figure, out / picture.name, picture.foot), sep="\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    # The warnings concern appearance, and would appear between the names of files.
    warnings.simplefilter("ignore")
    try:
        pictures = list(pictures_of(options.folder))
        if not pictures:
            raise BadInput(f"{options.folder}: nothing to draw; expected {EXPECTED}")
        draw_all(pictures, options.out)
    except BadInput as error:
        print(f"recto: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"recto: {error.filename or options.out}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # The reader of the names may stop early.
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        code = 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
