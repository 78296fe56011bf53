#!/usr/bin/env python3
"""Prints the tables of docs/kernel_speed.md: what is predicted from golden figures and plans, and
beside it what was measured.

    document.py SPEED_FOLDER PLANS PEERS RESULTS [--check DOCUMENT] [--plot FILE.svg]

SPEED_FOLDER and PLANS are in cuda/golden, PEERS in golden/ here, RESULTS is
experiments/results/H100-80GB-HBM3. --check: the document's tables must be those printed. --plot
draws predicted shares of bandwidth instead, with matplotlib.
"""

import argparse
import difflib
import json
import sys
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True

from cards import CARDS  # noqa: E402
from figures import rates_of  # noqa: E402
from launch_model import predict_launch  # noqa: E402
from plans import read_plans  # noqa: E402
from speed_table import read_table  # noqa: E402

CONTEXTS = (4096, 8192, 16384, 32768)
BATCHES = (1, 4, 16, 64, 256)
SUFFIX = "/iterations:1/manual_time"
FAST = "GQA decode in whole tiles, bf16/{}, 128"
BY_TMA = "TMA decode, bf16/bf16, 128"
FLASHINFER = "FlashInfer decode on tensor cores, bf16/bf16, 128"
FLASHINFER_CUDA = "FlashInfer decode on CUDA cores, bf16/bf16, 128, group 4"
FLASHINFER_PREFILL = "FlashInfer prefill (FA2), bf16/bf16, 128"
MEASURED_CARD = "H100"
# Colours of Okabe and Ito; dashes and markers tell the lines apart without them.
LINES = (("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"),
         ("#CC79A7", ":", "D"), ("#000000", "--", "P"))
PREDICTED_AND_MEASURED = ("predicted, us", "measured, us", "measured / predicted")
DECODE_COLUMNS = (
    "kernel", "instructions / tile", "KV bytes / instruction", "FlashInfer on tensor cores = 1",
    "products, ldmatrix, copies", "special, fp32, integer", "control, branches", "stalls",
    "registers, KiB shared", "thread blocks, KiB in flight",
    "bytes / clock and SM, with 1 / 2 / ... thread blocks")


def table(columns, rows):
    """Lines of a table in Markdown."""
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


class Speeds:
    """The golden figures of all cards, and those of peers."""

    def __init__(self, folder, peers):
        self.of_arch = {}
        for path in sorted(Path(folder).glob("*.txt")):
            first_line, rows = read_table(path)
            arch = first_line.rpartition(" ")[2].removesuffix("a")
            self.of_arch.setdefault(arch, {}).update(rows)
        self.peers = read_table(peers)[1]

    def predict(self, launch):
        card = CARDS[launch.card]
        cache = "fp8" if launch.cache in ("e4m3", "e5m2") else launch.cache
        label = BY_TMA if launch.kernel == "TMA decode" else FAST.format(cache)
        return predict_launch(launch, rates_of(self.of_arch[card.arch][label]), card)


def whole(figures, *columns):
    return ", ".join(f"{figures[column]:.0f}" for column in columns)


def decode_rows(speeds):
    own = speeds.of_arch["sm_90"]
    labels = [label for label in own if "decode" in label and label.endswith(", 128")]
    labels += [FAST.format("bf16").replace("128", dim) for dim in ("64", "256")]
    rows = {label: own[label] for label in labels}
    rows |= {label: row for label, row in speeds.peers.items() if "decode" in label}
    for label, figures in rows.items():
        yield (
            label, f"{figures['instructions']:.0f} / {figures['work'] / 1024:g} KiB",
            f"{figures['per instr.']:.1f}",
            f"{figures['per instr.'] / speeds.peers[FLASHINFER]['per instr.']:.2f}",
            whole(figures, "products", "ldmatrix", "copies"),
            whole(figures, "special", "fp32", "integer"), whole(figures, "control", "branches"),
            whole(figures, "stalls"), f"{figures['registers']:.0f}, {figures['shared'] / 1024:.0f}",
            f"{figures['blocks']:.0f}, {figures['in flight'] / 1024:.0f}",
            " / ".join(f"{rate:.1f}" for rate in rates_of(figures)),
        )


def card_rows(speeds, launches):
    needs = {each.card: CARDS[each.card].need(each.gb_per_s) for each in launches}
    yield "the card's memory", *(f"{needs[name]:.1f}" for name in CARDS)
    for label in (FAST.format("bf16"), FAST.format("fp8")):
        rows = {name: speeds.of_arch[card.arch][label] for name, card in CARDS.items()}
        rates = {name: max(rates_of(row)) for name, row in rows.items()}
        yield label, *(f"{rates[name]:.1f}; {rates[name] / needs[name]:.2f}; "
                       f"{rows[name]['per instr.']:.1f}" for name in CARDS)


def kernel_tables(speeds, launches):
    yield from table(DECODE_COLUMNS, decode_rows(speeds))
    yield from table(("bytes / clock and SM; times the memory's; KV bytes / instruction",
                      *(f"{name} ({card.arch})" for name, card in CARDS.items())),
                     card_rows(speeds, launches))
    card = CARDS["H200"]
    own = speeds.of_arch["sm_90"]
    prefill = [(label, figures) for label, figures in own.items() if "prefill" in label]
    prefill.append((FLASHINFER_PREFILL, speeds.peers[FLASHINFER_PREFILL]))
    yield from table(
        ("kernel", "instructions / tile", "FLOP / instruction", "ldmatrix / product",
         "registers, KiB shared", "thread blocks", "TFLOP/s"),
        [(label, f"{figures['instructions']:.0f}", f"{figures['per instr.']:.0f}",
          f"{figures['ldmatrix'] / figures['products']:.2f}" if figures["products"] else "-",
          f"{figures['registers']:.0f}, {figures['shared'] / 1024:.0f}", f"{figures['blocks']:.0f}",
          f"{tflops(figures, card):.0f}") for label, figures in prefill])


def tflops(figures, card):
    return max(rates_of(figures)) * card.multiprocessors * card.clock_ghz / 1e3


def shares(speeds, launches):
    """{(card, batch, context): prediction} of equal contexts that the plan is made for."""
    return {(each.card, each.batch, each.context): speeds.predict(each) for each in launches
            if each.kernel == "GQA decode" and each.cache == "bf16" and each.lengths == "equal"
            and each.planned == each.context}


def launch_tables(speeds, launches):
    found = shares(speeds, launches)
    yield from table(
        ("card", "batch", *map(str, CONTEXTS)),
        [(card, batch, *(f"{found[card, batch, context].bandwidth_share:.0%}, "
                         f"{found[card, batch, context].waves:.2g}, "
                         f"{found[card, batch, context].tail_us:.0f}" for context in CONTEXTS))
         for card in CARDS for batch in BATCHES])
    rows = []
    for each in launches:
        if each.card == "H200" and (each.planned != each.context or each.lengths == "skewed"):
            here = speeds.predict(each)
            ratio = "-"
            if each.lengths == "equal":
                ratio = f"{here.us / found[each.card, each.batch, each.context].us:.2f}"
            rows.append((each.name, each.splits, f"{here.us:.1f}", f"{here.bandwidth_share:.0%}",
                         ratio))
    yield from table(("batch x context, H200", "splits", "us", "share of bandwidth",
                      "times a plan for that context"), rows)


def measured_rows(path):
    """{(peer or "", case): row}"""
    rows = json.loads(Path(path).read_text("utf-8"))["benchmarks"]
    return {(row.get("peer", ""), row["name"].removesuffix(SUFFIX)): row for row in rows
            if "median_us" in row}


def case_name(launch):
    family = {"GQA decode": "decode", "TMA decode": "decode_tma"}[launch.kernel]
    family += "_skewed" if launch.lengths == "skewed" else ""
    return (f"{family}/batch:{launch.batch}/context:{launch.context}/group:4/head_dim:128/"
            f"types:bf16-{launch.cache}/block:16")


def one_wave(launch, blocks):
    """The same work in one wave of equal parts, and a merge: FlashInfer's schedule."""
    slots = blocks * CARDS[launch.card].multiprocessors
    keys = sum(count * keys for count, keys in launch.runs)
    return replace(launch, runs=((slots, max(16, keys // slots)),), splits=2)


def compared(launch, kernel, predicted_us, row):
    measured_us = row["median_us"]
    return (launch.name, kernel, f"{predicted_us:.1f}", f"{measured_us:.1f}",
            f"{measured_us / predicted_us:.2f}")


def measured_tables(speeds, launches, results):
    card = CARDS[MEASURED_CARD]
    ours = [(each, case_name(each)) for each in launches
            if each.card == MEASURED_CARD and each.planned == each.context]
    seen = measured_rows(Path(results) / "attention.json")
    yield from table(
        ("batch x context", "kernel, cache", *PREDICTED_AND_MEASURED),
        [compared(each, f"{each.kernel}, {each.cache}", speeds.predict(each).us, seen["", case])
         for each, case in ours if ("", case) in seen])
    seen = measured_rows(Path(results) / "at_3d8b440f" / "peers.json")
    rows = []
    for each, case in ours:
        for peer, label in (("flashinfer", FLASHINFER), ("flashinfer-cuda-cores", FLASHINFER_CUDA)):
            if (peer, case) in seen:
                rates = rates_of(speeds.peers[label])
                us = predict_launch(one_wave(each, len(rates)), rates, card).us
                rows.append(compared(each, peer, us, seen[peer, case]))
    yield from table(("batch x context", "kernel", *PREDICTED_AND_MEASURED), rows)
    yield from table(("kernel", "predicted, TFLOP/s", "measured, TFLOP/s", "measured / predicted"),
                     prefill_rows(speeds, results))


def prefill_rows(speeds, results):
    case = "prefill/batch:1/context:16384/rows:2048/group:4/head_dim:128/types:bf16-bf16/block:16"
    for label, file in (("Hopper prefill, bf16/bf16, 128", "at_602d33d9/attention.json"),
                        ("wide prefill, bf16/bf16, 128", "attention.json")):
        predicted = tflops(speeds.of_arch["sm_90"][label], CARDS[MEASURED_CARD])
        row = measured_rows(Path(results) / file)["", case]
        measured = row["flops"] / (row["median_us"] * 1e6)
        yield label, f"{predicted:.0f}", f"{measured:.0f}", f"{measured / predicted:.2f}"


def plot(found, picture):
    """Draws the shares of bandwidth, by context, batch and card."""
    import matplotlib.pyplot as plt

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("speeds", "plans", "peers", "results"):
        parser.add_argument(name)
    parser.add_argument("--check")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    speeds, launches = Speeds(arguments.speeds, arguments.peers), read_plans(arguments.plans)
    if arguments.plot:
        plot(shares(speeds, launches), arguments.plot)
        return 0
    lines = [*kernel_tables(speeds, launches), *launch_tables(speeds, launches),
             *measured_tables(speeds, launches, arguments.results)]
    if not arguments.check:
        print("\n".join(lines))
        return 0
    document = Path(arguments.check).read_text("utf-8").splitlines()
    there = [line for line in document if line.startswith("|")]
    printed = [line for line in lines if line]
    for line in difflib.unified_diff(there, printed, arguments.check, "printed", "", "", 0, ""):
        print(line)
    return there != printed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(f"document.py: {error}")
    except KeyError as missing:
        sys.exit(f"document.py: the golden files have no figures of {missing}")
