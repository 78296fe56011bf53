"""Code that all notebooks share: finds and reads results, and sets the style of figures.

Colours are those of Okabe and Ito (Color Universal Design, 2008). Colour alone carries no
information: areas have hatches, lines have dashes and markers.
"""

import json
import os
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt
import pandas

RESULTS = Path(os.environ.get("RECTO_RESULTS", "results"))  # made by make_results.sh

# The six states of a slot: colour and hatch, from the bottom up.
STATES = {
    "used": ("#0072B2", ""),
    "reserved": ("#56B4E9", "///"),
    "internal": ("#D55E00", "xxx"),
    "cached": ("#F0E442", "..."),
    "free": ("#F2F2F2", ""),
    "overhead": ("#000000", "++"),
}
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


def read_runs(folder: str) -> pandas.DataFrame:
    """A row for each configuration of `recto fragmentation --out`, by its name."""
    runs = pandas.read_csv(find(f"{folder}/fragmentation.csv"))
    is_paged = ~runs["allocator"].str.startswith("contiguous")
    names = runs["allocator"] + (" " + runs["block_size"].astype(str)).where(is_paged, "")
    return runs.set_index(names)


def read_page(folder: str) -> dict:
    """The data of the page of `recto fragmentation --report`, including its advice."""
    return read_json(f"{folder}/report.json")["data"]


def source(name: str) -> str:
    """The origin of the results of a folder or a report."""
    path = find(name)
    document = json.loads((path / "manifest.json" if path.is_dir() else path).read_text())
    settings = document.get("settings") or document["configurations"][0]
    models = document.get("time_models") or [{"name": document["time_model"],
                                              "provenance": document["time_model_provenance"]}]
    said = ", ".join(f"{model['name']}, {model['provenance']}" for model in models)
    return (f"recto {document['recto']['version']}, commit {document['recto']['commit'][:12]}; "
            f"seed {settings['seed']}, {settings['model']} on {settings['gpu']}; "
            f"step times: {said}")


def draw_states(axis, shares: pandas.DataFrame) -> None:
    """A bar for each row of `shares`, which has a column for each state, in % of the pool."""
    begin = pandas.Series(0.0, index=shares.index)
    for state, (colour, hatch) in STATES.items():
        axis.barh(shares.index, shares[state], left=begin, color=colour, hatch=hatch,
                  edgecolor="#333333", linewidth=0.5, label=state)
        begin = begin + shares[state]
    axis.set(xlim=(0, 100), xlabel="% of the pool")
    axis.invert_yaxis()
    axis.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1))


def state_shares(runs: pandas.DataFrame) -> pandas.DataFrame:
    """In % of the pool, time-weighted means."""
    return 100 * pandas.DataFrame({state: runs[f"figures.mean_shares.{state}"]
                                   for state in STATES})


def draw_line(axis, index: int, xs, ys, label: str) -> None:
    axis.plot(xs, ys, label=label, markersize=5, **LINES[index % len(LINES)])


def draw_bars(axis, values: pandas.Series, label: str) -> None:
    """Bars with their numbers, distinguished by hatches."""
    bars = axis.bar(values.index, values, edgecolor="#333333", color="#56B4E9")
    for bar, hatch in zip(bars, cycle(("", "///", "xxx", "...", "\\\\\\"))):
        bar.set_hatch(hatch)
    axis.bar_label(bars, fmt="%.3g")
    axis.set_ylabel(label)
