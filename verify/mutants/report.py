#!/usr/bin/env python3
"""Tables of a campaign: who was killed, by area; by what; and how long it took.

    report.py RESULT.json EQUIVALENT.txt PICKED.txt...

prints them of a result that a campaign has written.
"""

import json
import statistics
import sys
from pathlib import Path


def share(part, whole):
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "-"


def table_of(rows):
    """Of markdown, for docs/mutation.md."""
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


HEADINGS = ["mutants", "not tried", "equivalent", "killed by ours", "survived", "crashed"]
HEADINGS += ["by the clock"]
HEADINGS += ["fixed tolerance", "factor two"]


def row_of(name, mutants):
    tried = [m for m in mutants if m["ours"] != "untried"]
    real = [m for m in tried if m["listed"] != "equivalent"]
    killed = [m for m in real if m["ours"] == "killed"]
    cells = [name, len(mutants), len(mutants) - len(tried), len(tried) - len(real)]
    cells.append(share(len(killed), len(real)))
    for kind in ("passed", "crashed", "clock"):
        cells.append(sum(m["ours"] == kind for m in real))
    for i in range(2):
        others = [m for m in real if i < len(m["imitations"])]
        cells.append(share(sum(m["imitations"][i] == "killed" for m in others), len(others)))
    return cells


def table_by(key, mutants):
    rows = [[key, *HEADINGS]]
    for value in sorted({m[key] for m in mutants}):
        rows.append(row_of(value, [m for m in mutants if m[key] == value]))
    return table_of([*rows, row_of("all", mutants)])


def killer_table(mutants):
    """By sort of check, those that killed most first."""
    killed = [mutant for mutant in mutants if mutant["ours"] == "killed"]
    sorts = {}
    for mutant in killed:
        sorts.setdefault(mutant["sort"], []).append(mutant)
    rows = [["killed by", "mutants", "by how many tests", "seconds to kill, median", "most"]]
    for sort, own in sorted(sorts.items(), key=lambda item: (-len(item[1]), item[0])):
        seconds = [mutant["seconds"] for mutant in own]
        tests = len({mutant["by"] for mutant in own})
        median = f"{statistics.median(seconds):.1f}"
        rows.append([sort, len(own), tests, median, f"{max(seconds):.1f}"])
    return table_of(rows)


def equivalent_table(mutants, equivalent):
    rows = [["equivalent", "what", "why"]]
    for mutant in mutants:
        if mutant["listed"] == "equivalent":
            text = mutant["text"].replace("|", "\\|")
            rows.append([mutant["name"], text, equivalent[mutant["name"]]])
    return table_of(rows)


def open_table(mutants, still_open):
    rows = [["mutant", "what", "what ought to kill it"]]
    for mutant in mutants:
        if mutant["listed"] == "open":
            text = mutant["text"].replace("|", "\\|")
            rows.append([mutant["name"], f"`{text}`", still_open[mutant["name"]]])
    return table_of(rows)


def seen_otherwise(mutants, seen_by):
    """Those that another sort of check killed than they were picked for, of `seen_by`'s."""
    killed = [m for m in mutants if m["ours"] == "killed" and m["name"] in seen_by]
    rows = [["mutant", "ought to be seen by", "was killed by", "which is"]]
    for mutant in killed:
        expected = seen_by[mutant["name"]]
        if mutant["sort"] not in expected:
            by = mutant["by"].replace("|", "\\|")
            rows.append([mutant["name"], " or ".join(expected), mutant["sort"], by])
    count = f"{len(rows) - 1} of {len(killed)} picked mutants were killed by another sort:"
    return f"{count}\n\n{table_of(rows)}"


def print_tables(mutants, equivalent, seen_by):
    print()
    print(table_by("area", mutants))
    print(table_by("operator", mutants))
    print(killer_table(mutants))
    print(seen_otherwise(mutants, seen_by))
    print(equivalent_table(mutants, equivalent))


def main(result, equivalent, *picked):
    import campaign  # which needs this module
    import copies

    listed = json.loads(Path(result).read_text(encoding="utf-8"))
    seen_by = {mutant.name: mutant.seen_by for mutant in copies.read_picked(picked)}
    print_tables(listed["mutants"], campaign.read_arguments(equivalent), seen_by)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
