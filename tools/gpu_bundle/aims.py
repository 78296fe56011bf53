#!/usr/bin/env python3
"""Holds what was measured on a card against what is aimed at (docs/benchmarks.md).

    aims.py FOLDER      attention.json in it, and peers.json if it is there

A line for each aim: met, missed, or not measured; with how many cases, and the worst. Exit codes:
0 whatever the outcome, 2 bad usage or a file that is no measurement.
"""

import json
import sys
from pathlib import Path

SUFFIX = "/iterations:1/manual_time"


class BadFile(Exception):
    """Which, and what was expected."""


def read_rows(path, numbers):
    """Of each benchmark that was measured its fields, its name without the library's ending.

    `numbers` are the fields that each has to have, above 0.
    """
    try:
        rows = json.loads(path.read_text("utf-8"))["benchmarks"]
        measured = [row for row in rows if not row.get("error_occurred")]
        for row in measured:
            for name in numbers:
                if not row[name] > 0:
                    raise ValueError(f"{row['name']}: {name} is {row[name]}")
        return [row | {"name": row["name"].removesuffix(SUFFIX)} for row in measured]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadFile(f"{path}: expected JSON of measurements: {error!r}") from error


def is_aimed_at(row):
    parts = row["name"].split("/")
    return (parts[0] == "decode" and row["context"] >= 4096 and row["group"] in (4, 8)
            and parts[-1] == "block:16")


def against_copy(rows):
    return {row["name"]: row["fraction_of_copy_rate"] for row in rows if is_aimed_at(row)}


def against_contiguous(rows):
    time_of = {row["name"]: row["median_us"] for row in rows}
    ratios = {}
    for row in filter(is_aimed_at, rows):
        twin = row["name"].removesuffix("block:16") + "block:contiguous"
        if twin in time_of:
            ratios[row["name"]] = row["median_us"] / time_of[twin]
    return ratios


def against_peers(rows, peers, is_meant):
    best = {}
    for peer in peers:
        best[peer["name"]] = min(best.get(peer["name"], peer["median_us"]), peer["median_us"])
    return {row["name"]: row["median_us"] / best[row["name"]]
            for row in rows if is_meant(row) and row["name"] in best}


def verdict(figures, is_met, worst_of):
    """Whether all of the figures are met, by names of cases; `worst_of` is min or max."""
    if not figures:
        return "not measured"
    worst = worst_of(figures, key=figures.get)
    missed = sum(not is_met(figure) for figure in figures.values())
    counted = f"{missed} of {len(figures)} cases" if missed else f"{len(figures)} cases"
    return f"{'missed' if missed else 'met'} ({counted}, worst {figures[worst]:.3f}: {worst})"


def is_prefill(row):
    return row["name"].startswith("prefill/")


def report(folder):
    rows = read_rows(folder / "attention.json",
                     ("median_us", "context", "group", "fraction_of_copy_rate"))
    has_peers = (folder / "peers.json").exists()
    peers = read_rows(folder / "peers.json", ("median_us",)) if has_peers else []
    yield ("decode, of the copy rate, at least 0.90",
           verdict(against_copy(rows), lambda share: share >= 0.9, min))
    yield ("decode in blocks of 16, over contiguous, at most 1.03",
           verdict(against_contiguous(rows), lambda ratio: ratio <= 1.03, max))
    yield ("decode, over the best peer, below 1",
           verdict(against_peers(rows, peers, is_aimed_at), lambda ratio: ratio < 1, max))
    yield ("prefill, over the best peer, at most 1.10",
           verdict(against_peers(rows, peers, is_prefill), lambda ratio: ratio <= 1.1, max))


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for aim, outcome in report(Path(arguments[0])):
            print(f"{aim}: {outcome}")
    except BadFile as error:
        print(f"aims.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
