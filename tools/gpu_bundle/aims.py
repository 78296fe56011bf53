#!/usr/bin/env python3
"""Compares what was measured on a card with the aims (docs/benchmarks.md).

    aims.py FOLDER             attention.json in it, and peers.json if it is there
    aims.py FOLDER BEFORE      and how many times faster than what BEFORE/attention.json has

A line for each aim: met, not met, or not measured; with how many figures, and the worst. Fewer than
8 cases give no verdict. An aim over peers is judged over the cases that both ran, and says how many
of recto's these are, which peers had a figure in fewer than 8 of them or in none, and how often a
peer refused a case or was wrong. Below it a line for each case that peers ran; no peer runs 8-bit
or contiguous caches. Gains are geometric means over the cases that both folders have. Exit codes: 0
whatever the outcome, 2 bad usage or a file without measurements.
"""

import json
import re
import statistics
import sys
from collections import Counter
from pathlib import Path

CASES_LEAST = 8  # for a verdict; the default set has at least twice as many for each aim
PEERS_SERVE = re.compile(r"/types:(bf16-bf16|fp16-fp16)/block:\d+(/|$)")
SUFFIX = "/iterations:1/manual_time"


class BadFile(Exception):
    """The invalid file, and what was expected."""


def read(path, fields):
    """The fields of each measured benchmark, with its name without the library's suffix, and of
    each that was not measured.

    `fields` are required, and must be numbers above 0.
    """
    try:
        whole = json.loads(path.read_text("utf-8"))
        measured = [row for row in whole["benchmarks"] if not row.get("error_occurred")]
        for index, row in enumerate(measured):
            for name in ("name", *fields):
                if name not in row:
                    raise ValueError(f"{row.get('name', f'row {index}')} has no {name}")
                if name not in ("name", "peer") and not row[name] > 0:
                    raise ValueError(f"{row['name']}: {name} is {row[name]}")
        rows = [row | {"name": row["name"].removesuffix(SUFFIX)} for row in measured]
        return rows, [(each["name"], each["peer"], each["state"])
                      for each in whole.get("not_measured", [])]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        said = error if type(error) is ValueError else repr(error)
        raise BadFile(f"{path}: expected JSON of measurements: {said}") from error


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


def read_peers(folder):
    """Microseconds by peer and case, or why there is no figure: skipped, refused or wrong."""
    path = folder / "peers.json"
    answers = {}
    rows, left_out = read(path, ("peer", "median_us")) if path.exists() else ([], [])
    for row in rows:
        answers.setdefault(row["peer"], {})[row["name"]] = row["median_us"]
    for case, peer, state in left_out:
        answers.setdefault(peer, {})[case] = state
    return answers


def over_peers(rows, peers, is_met):
    """The verdict over all peers, and a line for each of their cases."""
    figures, gaps, lines, compared = {}, Counter(), [], 0
    cases_of = Counter(dict.fromkeys(peers, 0))
    for row in rows:
        answers = {peer: cases[row["name"]] for peer, cases in peers.items()
                   if row["name"] in cases}
        left_out = {peer: each for peer, each in answers.items() if isinstance(each, str)}
        ratios = {peer: row["median_us"] / us for peer, us in answers.items()
                  if peer not in left_out}  # recto's time over each peer's
        if not ratios and not left_out:
            continue
        compared += bool(ratios)
        cases_of.update(ratios.keys())
        gaps.update(state for state in left_out.values() if state != "skipped")
        figures |= {f"{row['name']} over {peer}": ratio for peer, ratio in ratios.items()}
        told = [f"{peer} {ratio:.3f}" for peer, ratio in ratios.items()]
        told += [f"{peer} {state}" for peer, state in left_out.items()]
        lines.append(f"    {row['name']}: {', '.join(told)}")
    outcome = verdict(figures, is_met, max, num_cases=compared)
    if not lines:
        return [outcome]
    outcome += f"; {compared} of {counted(len(rows), 'case')}"
    outcome += "".join(f", {state} {counted(times, 'time')}" for state, times in gaps.items())
    few = [f"{peer} ({count})" for peer, count in cases_of.items() if 0 < count < CASES_LEAST]
    silent = [peer for peer, count in cases_of.items() if count == 0]
    outcome += f"; in few cases: {', '.join(sorted(few))}" if few else ""
    outcome += f"; no figure: {', '.join(sorted(silent))}" if silent else ""
    return [outcome, *lines]


def counted(count, what):
    return f"{count} {what}{'s' * (count != 1)}"


def verdict(figures, is_met, worst_of, num_cases=None):
    """Whether all figures meet the aim, by name; `worst_of` is min or max.

    `num_cases` is the number of cases behind the figures, if not one each.
    """
    if not figures:
        return "not measured"
    worst = worst_of(figures, key=figures.get)
    num_cases = len(figures) if num_cases is None else num_cases
    if num_cases < CASES_LEAST:
        return (f"not measured ({num_cases} of at least {CASES_LEAST} cases, "
                f"worst {figures[worst]:.3f}: {worst})")
    missed = sum(not is_met(figure) for figure in figures.values())
    told = f"{missed} of " * (missed > 0) + counted(len(figures), "figure")
    return f"{'not met' if missed else 'met'} ({told}, worst {figures[worst]:.3f}: {worst})"


def report(folder):
    rows, _ = read(folder / "attention.json",
                   ("median_us", "context", "group", "fraction_of_copy_rate"))
    peers = read_peers(folder)
    asked = [row for row in rows if PEERS_SERVE.search(row["name"])]
    prefill = [row for row in asked if row["name"].startswith("prefill/")]
    yield ("decode, of the copy rate, at least 0.90",
           verdict(against_copy(rows), lambda share: share >= 0.9, min))
    yield ("decode in blocks of 16, over contiguous, at most 1.03",
           verdict(against_contiguous(rows), lambda ratio: ratio <= 1.03, max))
    yield ("decode, over each peer, below 1",
           *over_peers(list(filter(is_aimed_at, asked)), peers, lambda ratio: ratio < 1))
    yield ("prefill, over each peer, at most 1.10",
           *over_peers(prefill, peers, lambda ratio: ratio <= 1.1))


def gains(folder, before):
    """For decode and for prefill, the earlier time over today's of the cases that both have."""
    today, earlier = ({row["name"]: row["median_us"]
                       for row in read(each / "attention.json", ("median_us",))[0]}
                      for each in (folder, before))
    for kind in ("decode", "prefill"):
        ratios = [earlier[name] / today[name] for name in today
                  if name in earlier and name.startswith(f"{kind}/")]
        yield (f"{kind}, times faster than in {before}",
               f"{statistics.geometric_mean(ratios):.3f} ({counted(len(ratios), 'case')}, "
               f"{min(ratios):.3f} to {max(ratios):.3f})" if ratios else "not measured")


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folders = [Path(argument) for argument in arguments]
    try:
        told = [*report(folders[0]), *(gains(*folders) if folders[1:] else ())]
        for aim, outcome, *lines in told:
            print(f"{aim}: {outcome}", *lines, sep="\n")
    except BadFile as error:
        print(f"aims.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
