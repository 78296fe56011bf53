#!/usr/bin/env python3
"""Seconds that building and testing take, by folder, from a profile that Bazel wrote.

    ./bazelw test --config=profile //...            # in a new output folder, or after `bazel clean`
    tools/build_times.py profile.json.gz            # the table of docs/architecture.md
    tools/build_times.py profile.json.gz --check docs/architecture.md

Actions run alone on a core each, so that their seconds are those of a CPU, but for tests that wait.
--check fails if a folder takes more than 1.5 times what the document says. So that it holds on
other machines, too, seconds are scaled by what building the median folder takes. Where Catch2 was
not compiled, not all is built anew; then nothing is compared, and it says so.
"""

import argparse
import collections
import gzip
import json
import re
import statistics
import sys
from pathlib import Path

SLACK = 1.5
LEAST_SECONDS = 20  # what is shorter is noise
BUILT_ANEW = "Compiling bazel/testing/catch.cc"
# Folders whose parts are shown on their own.
SPLIT = ("cuda", "experiments", "verify")


def actions_of(path):
    """(label, description, seconds) of each action that ran."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if event.get("cat") == "action processing":
            yield event.get("args", {}).get("target", ""), event["name"], event["dur"] / 1e6


def folder_of(label):
    parts = re.sub(r"^@[^/]*", "external", label.split(":")[0]).strip("/").split("/")
    return "/".join(parts[:2] if parts[0] in SPLIT else parts[:1]) or "external"


def seconds_by_folder(actions):
    """{folder: [seconds of building, seconds of testing]}, and whether all was built anew."""
    seconds, is_anew = collections.defaultdict(lambda: [0.0, 0.0]), False
    for label, name, taken in actions:
        seconds[folder_of(label)][name.startswith("Testing ")] += taken
        is_anew = is_anew or name.startswith(BUILT_ANEW)
    return seconds, is_anew


def table_of(seconds):
    rows = sorted(seconds.items(), key=lambda row: -sum(row[1]))
    rows = [(folder, built, tested) for folder, (built, tested) in rows if built + tested >= 1]
    total = [sum(column) for column in list(zip(*rows))[1:]]
    lines = ["| folder | build, s | test, s |", "|---|---|---|"]
    lines += [f"| {folder} | {built:.0f} | {tested:.0f} |" for folder, built, tested in rows]
    return lines + [f"| all | {total[0]:.0f} | {total[1]:.0f} |"]


def budgets_in(document):
    """{folder: [build, test]} of the table in the document."""
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|$", document, re.MULTILINE)
    return {name: [float(built), float(tested)] for name, built, tested in rows if name != "all"}


def excesses(seconds, budgets):
    scale = statistics.median(seconds[folder][0] / built
                              for folder, (built, _) in budgets.items() if built >= LEAST_SECONDS)
    for folder, taken in sorted(seconds.items()):
        for kind, value, budget in zip(("building", "testing"), taken, budgets.get(folder, [0, 0])):
            limit = SLACK * scale * max(budget, LEAST_SECONDS)
            if value > limit:
                yield (f"{folder}: {kind} takes {value:.0f} s; expected at most {limit:.0f} s, "
                       f"{SLACK} times {max(budget, LEAST_SECONDS):.0f} s on a machine "
                       "of this speed")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("profile", type=Path)
    parser.add_argument("--check", type=Path, metavar="DOCUMENT")
    asked = parser.parse_args(arguments)
    try:
        seconds, is_anew = seconds_by_folder(actions_of(asked.profile))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        print(f"build_times.py: {asked.profile}: expected what --config=profile writes: {error}")
        return 2
    if not asked.check:
        print("\n".join(table_of(seconds)))
        return 0
    if not is_anew:
        print("not all was built anew in this run: build times are not compared")
        return 0
    try:
        budgets = budgets_in(asked.check.read_text("utf-8"))
    except (OSError, ValueError) as error:
        print(f"build_times.py: {asked.check}: expected a document: {error}")
        return 2
    if all(built < LEAST_SECONDS for built, _ in budgets.values()):
        print(f"build_times.py: {asked.check}: expected the table that this program prints")
        return 2
    wrong = list(excesses(seconds, budgets))
    print("\n".join(wrong) or f"build times: {len(seconds)} folders within their budgets")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
