#!/usr/bin/env python3
"""Seconds that building and testing take, by folder, from a profile that Bazel wrote.

    ./bazelw test --config=profile //...            # in a new output folder, or after `bazel clean`
    tools/build_times.py profile.json.gz            # the table of docs/architecture.md
    tools/build_times.py profile.json.gz --check docs/architecture.md

Each action runs alone on a core, so its seconds are CPU seconds, except for tests that wait.
--check fails if a folder takes more than 1.5 times what the document says. On a slower machine it
may take longer, by as much as building the median folder does. A folder of which Bazel ran fewer
actions than the document has, because it had results of others, is not compared. The document's
second table, of folders that take longer with nvcc or Chromium, counts where one of them is here.
"""

import argparse
import collections
import dataclasses
import gzip
import json
import os
import re
import shutil
import statistics
import sys
from pathlib import Path

SLACK = 1.5
LEAST_SECONDS = 20  # shorter times are noise
LEAST_ACTIONS = 0.9  # of the document's; with fewer, the build was incomplete
# Folders whose parts are shown separately.
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


@dataclasses.dataclass
class Folder:
    actions: int = 0
    built: float = 0.0  # seconds
    tested: float = 0.0


def folders_of(actions):
    folders = collections.defaultdict(Folder)
    for label, name, taken in actions:
        folder = folders[folder_of(label)]
        folder.actions += 1
        if name.startswith("Testing "):
            folder.tested += taken
        else:
            folder.built += taken
    return folders


def table_of(folders):
    rows = [(name, folder.actions, round(folder.built), round(folder.tested))
            for name, folder in folders.items() if folder.built + folder.tested >= 1]
    rows.sort(key=lambda row: -row[2] - row[3])
    rows.append(("all", *(sum(column) for column in list(zip(*rows))[1:])))
    lines = ["| folder | actions | build, s | test, s |", "|---|---|---|---|"]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]


def budgets_in(document, tables):
    """{folder: Folder} of the document's first tables; later ones replace folders of earlier."""
    budgets = {}
    found = re.findall(r"^\| folder \| actions .*\n((?:\|.*\n?)+)", document, re.MULTILINE)
    for table in found[:tables]:
        rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)
        budgets |= {name: Folder(*map(int, numbers)) for name, *numbers in rows if name != "all"}
    return budgets


def has_more_tools():
    """Whether this machine has what the document's second table is for: nvcc or Chromium."""
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    return any(shutil.which(name, path=places)
               for name in ("nvcc", "chromium", "chromium-browser", "google-chrome", "chrome"))


def compared(folders, budgets):
    """Completely built folders, and the machine's slowness (None if there are too few)."""
    whole = {name: folder for name, folder in folders.items()
             if folder.actions >= LEAST_ACTIONS * budgets.get(name, Folder()).actions}
    ratios = [folder.built / budgets[name].built for name, folder in whole.items()
              if name in budgets and budgets[name].built >= LEAST_SECONDS]
    return whole, max(1.0, statistics.median(ratios)) if len(ratios) >= len(budgets) / 4 else None


def excesses(folders, budgets, scale):
    for name, folder in sorted(folders.items()):
        budget = budgets.get(name, Folder())
        for kind, value, usual in (("building", folder.built, budget.built),
                                   ("testing", folder.tested, budget.tested)):
            limit = SLACK * scale * max(usual, LEAST_SECONDS)
            if value > limit:
                yield (f"{name}: {kind} takes {value:.0f} s; expected at most {limit:.0f} s, "
                       f"{SLACK} times {max(usual, LEAST_SECONDS):.0f} s on a machine of this "
                       "speed")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("profile", type=Path)
    parser.add_argument("--check", type=Path, metavar="DOCUMENT")
    asked = parser.parse_args(arguments)
    try:
        folders = folders_of(actions_of(asked.profile))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        print(f"build_times.py: {asked.profile}: expected what --config=profile writes: {error}")
        return 2
    if not asked.check:
        print("\n".join(table_of(folders)))
        return 0
    try:
        budgets = budgets_in(asked.check.read_text("utf-8"), 2 if has_more_tools() else 1)
    except (OSError, ValueError) as error:
        print(f"build_times.py: {asked.check}: expected a document: {error}")
        return 2
    if all(budget.built < LEAST_SECONDS for budget in budgets.values()):
        print(f"build_times.py: {asked.check}: expected the table that this program prints")
        return 2
    whole, scale = compared(folders, budgets)
    if scale is None:
        print("build times are not compared: little was rebuilt")
        return 0
    wrong = list(excesses(whole, budgets, scale))
    print("\n".join(wrong) or f"build times: {len(whole)} of {len(folders)} folders were built "
          "anew, all within their budgets")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
