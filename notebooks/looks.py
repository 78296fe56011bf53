"""Code that all notebooks share: finds results and the package, and sets the style of figures.

Colours are those of Okabe and Ito (Color Universal Design, 2008). Colour alone carries no
information: areas have hatches, lines have dashes and markers.
"""

import json
import os
import sys
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt
import pandas

RESULTS = Path(os.environ.get("RECTO_RESULTS", "results"))  # made by make_results.sh

# An installed package comes first; otherwise notebooks use that of their checkout.
_CHECKOUT = Path(__file__).absolute().parents[1]
sys.path.append(str(_CHECKOUT / "python"))
if (_CHECKOUT / "bazel-bin" / "experiments").is_dir():
    os.environ.setdefault("RECTO_PROGRAMS", str(_CHECKOUT / "bazel-bin" / "experiments"))

LINES = tuple({"color": colour, "linestyle": dash, "marker": marker} for colour, dash, marker in (
    ("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"),
    ("#E69F00", "-", "v"), ("#000000", "--", "P"), ("#56B4E9", "-.", "X"), ("#D55E00", ":", "<")))

plt.rcParams.update({"axes.grid": True, "axes.axisbelow": True, "grid.color": "#DDDDDD",
                     "axes.spines.top": False, "axes.spines.right": False, "font.size": 9,
                     "figure.constrained_layout.use": True, "legend.frameon": False,
                     "hatch.linewidth": 0.5})


def find(name: str) -> Path:
    path = RESULTS / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: make_results.sh writes it (see README.md)")
    return path


def read_json(name: str) -> dict:
    return json.loads(find(name).read_text())


def draw_line(axis, index: int, xs, ys, label: str) -> None:
    axis.plot(xs, ys, label=label, markersize=5, **LINES[index % len(LINES)])


def draw_bars(axis, values: pandas.Series, label: str) -> None:
    """Bars with their numbers, distinguished by hatches."""
    bars = axis.bar(values.index, values, edgecolor="#333333", color="#56B4E9")
    for bar, hatch in zip(bars, cycle(("", "///", "xxx", "...", "\\\\\\"))):
        bar.set_hatch(hatch)
    axis.bar_label(bars, fmt="%.3g")
    axis.set_ylabel(label)
