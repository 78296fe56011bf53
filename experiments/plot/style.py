"""The style of figures: readable without colour vision, equal bytes for equal data.

Colours are those of Okabe and Ito (Color Universal Design, 2008). Nothing is distinguished by
colour alone: areas have hatches, lines have dashes and markers.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch

from .legend import FIGURE_WIDTH_INCHES, Legend

BLUE, SKY, VERMILLION, YELLOW = "#0072B2", "#56B4E9", "#D55E00", "#F0E442"
GREEN, ORANGE, PURPLE, BLACK = "#009E73", "#E69F00", "#CC79A7", "#000000"


@dataclass(frozen=True)
class Area:
    colour: str
    hatch: str


# The six states of a slot, from the bottom up.
STATES = {
    "used": Area(BLUE, ""),
    "reserved": Area(SKY, "///"),
    "internal": Area(VERMILLION, "xxx"),
    "cached": Area(YELLOW, "..."),
    "free": Area("#F2F2F2", ""),
    "overhead": Area(BLACK, "++"),
}

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_FOOT_INCHES = 0.62
_FOOT_COLUMNS = 180


def set_up() -> None:
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": "medium",
        "figure.dpi": 100,
        "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
        "font.size": 9,
        "grid.color": "#DDDDDD",
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "savefig.dpi": 150,
        "svg.fonttype": "none",  # text remains text
        "svg.hashsalt": "recto",  # deterministic names of elements
    })


def line(index: int) -> dict:
    """The style that distinguishes the index-th line from others."""
    return {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _DASHES[index % len(_DASHES)],
            "marker": _MARKERS[index % len(_MARKERS)], "markersize": 4, "linewidth": 1.4}


def hollow_told(is_any: bool) -> str:
    """For the title of a figure with hollow marks."""
    return " (hollow marks: requests are rejected)" if is_any else ""


def mark_hollow(axis, xs, ys, index: int) -> None:
    """Marks for points of the index-th line that reject requests."""
    look = line(index) | {"linestyle": "", "markerfacecolor": "white", "markersize": 5}
    axis.plot(xs, ys, zorder=3, **look)


def label_log_axis(axis) -> None:
    """Labels the x axis at 1, 2 and 5 if it has fewer than two whole powers of ten, because one
    label shows no scale."""
    low, high = axis.get_xlim()
    # Below this a symlog axis is linear, to zero.
    least = getattr(axis.xaxis.get_transform(), "linthresh", low)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
    if sum(least <= 10.0**power <= high for power in powers) > 1:
        return
    marks = [float(f"{part}e{power}") for power in powers for part in (1, 2, 5)]
    marks = [mark for mark in marks if least <= mark <= high]
    marks = ([0.0] if low <= 0 else []) + marks
    axis.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axis.minorticks_off()


def state_patches(states=tuple(STATES)) -> list[Patch]:
    """The states' patches for a legend."""
    return [Patch(facecolor=STATES[state].colour, hatch=STATES[state].hatch, edgecolor="#333333",
                  label=state) for state in states]


def new_figure(title: str, rows: int = 1, columns: int = 1, height: float = 3.4,
               legend: Legend | None = None):
    """A figure, with room for a foot and a legend, and its axes, [rows, columns]. `height` is that
    of one row in inches."""
    height_inches = rows * height + max(0.8, 0.4 + (legend.height_inches if legend else 0))
    # Not of pyplot, which would show it a second time in a notebook.
    whole = Figure(layout="constrained",
                   figsize=(FIGURE_WIDTH_INCHES, height_inches + _FOOT_INCHES))
    figure, _ = whole.subfigures(2, 1, height_ratios=(height_inches, _FOOT_INCHES))
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.suptitle(title, fontweight="bold", x=0.01, horizontalalignment="left")
    return figure, axes


def set_heights(axis, values) -> None:
    """From 0 to a little above the largest of `values`."""
    largest = max(values, default=0)
    axis.set_ylim(0, 1.08 * largest if largest > 0 else 1)


def with_foot(figure: SubFigure, foot: str) -> Figure:
    """The whole figure, with `foot` below it."""
    whole = figure.figure
    lines = textwrap.fill(foot, _FOOT_COLUMNS, break_on_hyphens=False)
    whole.subfigs[1].text(0.01, 0.95, lines, fontsize=6.5, color="#444444",
                          verticalalignment="top", parse_math=False)  # names may have a $
    return whole


def save(figure: SubFigure, path: Path, foot: str) -> list[Path]:
    """Writes path.png and path.svg with `foot` below the figure."""
    whole = with_foot(figure, foot)
    _settle_layout(whole)
    written = []
    for suffix, metadata in ((".png", {"Software": "recto"}), (".svg", {"Date": None})):
        written.append(path.with_suffix(suffix))
        partial = path.with_suffix(".partial")
        whole.savefig(partial, format=suffix[1:], metadata=metadata)
        partial.replace(written[-1])
    return written


def _settle_layout(whole) -> None:
    """Lays out once, and rounds. The solver orders its variables by their addresses, so the last
    digits of places differ from run to run, and an SVG names clipping paths by every digit."""
    whole.draw_without_rendering()
    whole.set_layout_engine("none")
    for part in whole.subfigs:
        part.bbox_relative.set_points(part.bbox_relative.get_points().round(6))
    for axis in whole.axes:
        axis.set_position([round(edge, 6) for edge in axis.get_position().bounds])
