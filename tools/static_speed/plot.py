#!/usr/bin/env python3
"""Draws predicted shares of bandwidth, by context, batch and card.

    ./bazelw python tools/static_speed/plot.py SPEED_FOLDER PLANS PEERS FILE.svg

The arguments are those of document.py.
"""

import sys

sys.dont_write_bytecode = True

import matplotlib.pyplot as plt  # noqa: E402

from document import BATCHES, CONTEXTS, Speeds, shares  # noqa: E402
from plans import read_plans  # noqa: E402

CARDS = ("A100-80", "H100", "H200", "B200")
# Colours of Okabe and Ito; dashes and markers tell the lines apart without them.
LINES = (("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"),
         ("#CC79A7", ":", "D"), ("#000000", "--", "P"))


def main(speeds, plans, peers, picture):
    found = shares(Speeds(speeds, peers), read_plans(plans))
    plt.rcParams.update({"svg.hashsalt": "recto", "svg.fonttype": "none", "font.size": 9,
                         "axes.grid": True, "grid.color": "#DDDDDD", "legend.frameon": False})
    figure, axes = plt.subplots(1, len(CARDS), figsize=(10, 3.3), sharey=True, layout="constrained")
    for axis, card in zip(axes, CARDS, strict=True):
        for batch, (colour, dash, marker) in zip(BATCHES, LINES, strict=True):
            percent = [100 * found[card, batch, context].bandwidth_share for context in CONTEXTS]
            axis.plot(CONTEXTS, percent, color=colour, linestyle=dash, marker=marker, markersize=4,
                      label=f"batch {batch}")
        axis.set(xscale="log", xlabel="tokens of context", title=card, ylim=(0, 100),
                 xticks=CONTEXTS, xticklabels=[f"{context // 1024}k" for context in CONTEXTS])
        axis.minorticks_off()
    axes[0].set_ylabel("% of the nominal bandwidth,\npredicted")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
