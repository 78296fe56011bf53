#!/usr/bin/env python3
"""Tables of a campaign: who was killed, by area; by what; and how long it took.

    report.py RESULT.json EQUIVALENT.txt PICKED.txt...

prints them of a result that a campaign has written.
"""

import json
import re
import statistics
import sys
from pathlib import Path

import alone
import copies
import listed_mutants


# Reasons why a mutant cannot be detected.
UNSEEN = ("same code", "equivalent")
# Sorts of checks: what `recto verify` has for any kernel, and what the compiler put into the
# mutated copies. Others are tests and properties of recto's own parts.
VERIFIES = re.compile("checks of the executor|the oracle|law: .*")
INSTRUMENTED = re.compile("bounds of containers|undefined behaviour")


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"


def read(result):
    """What a campaign has written: its mutants, the date and, if known, more."""
    return json.loads(Path(result).read_text(encoding="utf-8"))


def is_first_by_compiler(mutant):
    return mutant["ours"] == "killed" and bool(INSTRUMENTED.fullmatch(mutant["sort"]))


def table_of(rows):
    """Of markdown, for docs/mutation.md."""
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


HEADINGS = ["mutants", "same machine code", "equivalent", "killed by ours"]
HEADINGS += ["first by oracle, laws, executor", "by own tests", "by instrumentation"]
HEADINGS += ["fixed tolerance", "factor two"]
# There should be none of these: they have a column only if there are some.
FAILURES = {"untried": "not tried", "passed": "survived", "threw": "by a foreign exception"}
FAILURES |= {"crashed": "crashed", "clock": "by the clock"}


def tells_exceptions(mutants):
    """Earlier campaigns counted a foreign exception as a kill, and kept no message."""
    return any("said" in mutant for mutant in mutants)


def failures_of(mutants):
    """Kinds of outcomes that occur, besides mutants that cannot be detected."""
    kinds = {m["ours"] for m in mutants if m["listed"] not in UNSEEN or m["ours"] == "untried"}
    return [kind for kind in FAILURES if kind in kinds]


def row_of(name, mutants, failures):
    tried = [m for m in mutants if m["ours"] != "untried"]
    real = [m for m in tried if m["listed"] not in UNSEEN]
    killed = [m["sort"] for m in real if m["ours"] == "killed"]
    verifies = sum(bool(VERIFIES.fullmatch(sort)) for sort in killed)
    instrumented = sum(bool(INSTRUMENTED.fullmatch(sort)) for sort in killed)
    cells = [name, len(mutants), *(sum(m["listed"] == reason for m in tried) for reason in UNSEEN)]
    cells.append(share(len(killed), len(real)))
    cells += [verifies, len(killed) - verifies - instrumented, instrumented]
    for i in range(2):
        others = [m for m in real if i < len(m["imitations"])]
        cells.append(share(sum(m["imitations"][i] == "killed" for m in others), len(others)))
    for kind in failures:
        cells.append(sum(m["ours"] == kind for m in (mutants if kind == "untried" else real)))
    return cells


def table_by(key, mutants):
    failures = failures_of(mutants)
    rows = [[key, *HEADINGS, *(FAILURES[kind] for kind in failures)]]
    for value in sorted({m[key] for m in mutants}):
        rows.append(row_of(value, [m for m in mutants if m[key] == value], failures))
    return table_of([*rows, row_of("all", mutants, failures)])


def left_over(mutants):
    """A sentence in place of columns that are missing."""
    known = [kind for kind in FAILURES if kind != "threw" or tells_exceptions(mutants)]
    absent = [FAILURES[kind] for kind in known if kind not in failures_of(mutants)]
    return f"There are no columns for mutants that there are none of: {', '.join(absent)}.\n"


ALONE_HEADINGS = ["mutants", "all of recto's checks", "recto verify alone"]
ALONE_HEADINGS += ["laws alone, no oracle", "fixed tolerance", "factor two"]


def laws_without_oracle(mutant):
    return [law for law in mutant["alone"]["laws"] if law not in alone.BY_REFERENCE]


def alone_row(name, mutants):
    killed = [sum(m["ours"] == "killed" for m in mutants)]
    killed.append(sum(m["alone"]["verify"] == "killed" for m in mutants))
    killed.append(sum(bool(laws_without_oracle(m)) for m in mutants))
    killed += [sum(m["imitations"][i] == "killed" for m in mutants) for i in range(2)]
    return [name, len(mutants), *(share(count, len(mutants)) for count in killed)]


def alone_table(mutants):
    """For mutants on which each was tried by itself: empty if a campaign had no such columns."""
    tried = [mutant for mutant in mutants if "alone" in mutant]
    if not tried:
        return ""
    rows = [["area", *ALONE_HEADINGS]]
    for area in sorted({mutant["area"] for mutant in tried}):
        rows.append(alone_row(area, [mutant for mutant in tried if mutant["area"] == area]))
    return table_of([*rows, alone_row("all", tried)])


def law_table(mutants, laws):
    """The mutants that each law kills with nothing run before it, and those that no other law
    kills."""
    kills = [mutant["alone"]["laws"] for mutant in mutants if "alone" in mutant]
    if not kills:
        return ""
    count = {law: sum(law in killers for killers in kills) for law in laws}
    rows = [["law", "mutants that it kills", "that no other law kills", "compares with"]]
    for law in sorted(count, key=lambda name: (-count[name], name)):
        with_what = "the reference" if law in alone.BY_REFERENCE else "the same backend"
        rows.append([law, count[law], sum(killers == [law] for killers in kills), with_what])
    return table_of(rows)


def executor_sentence(mutants):
    """The executor also checks kernels while recto's own tests run."""
    seen = [m for m in mutants if m["ours"] == "killed" and m["sort"] == "checks of the executor"]
    own = sum(not m["by"].startswith("finder: ") for m in seen)
    return (
        f"Of the {len(seen)} that checks of the executor saw first, {own} were seen while a test of"
        f" recto's own\nparts ran, the others while cases for the oracle did.\n"
    )


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
        if mutant["listed"] in UNSEEN:
            text = mutant["text"].replace("|", "\\|")
            rows.append([mutant["name"], text, equivalent[mutant["name"]]])
    return table_of(rows)


def open_table(mutants, still_open):
    rows = [["mutant", "what", "what ought to have killed it"]]
    for mutant in mutants:
        if mutant["name"] in still_open:
            text = mutant["text"].replace("|", "\\|")
            rows.append([mutant["name"], text, still_open[mutant["name"]]])
    return table_of(rows)


def seen_otherwise(mutants, seen_by):
    """The mutants in `seen_by` that were killed by another sort of check than they were picked
    for."""
    killed = [m for m in mutants if m["ours"] == "killed" and m["name"] in seen_by]
    rows = [["mutant", "ought to be seen by", "was killed by", "which is"]]
    for mutant in killed:
        expected = seen_by[mutant["name"]]
        if mutant["sort"] not in expected:
            by = mutant["by"].replace("|", "\\|")
            rows.append([mutant["name"], " or ".join(expected), mutant["sort"], by])
    count = f"{len(rows) - 1} of {len(killed)} were killed by another sort of check:"
    return f"{count}\n\n{table_of(rows)}"


def print_tables(campaign, equivalent, seen_by):
    mutants = campaign["mutants"]
    print()
    print(table_by("area", mutants))
    print(left_over(mutants))
    print(table_by("operator", mutants))
    print(alone_table(mutants))
    print(law_table(mutants, campaign.get("laws", [])))
    print(killer_table(mutants))
    print(executor_sentence(mutants))
    print(seen_otherwise(mutants, seen_by))
    print(equivalent_table(mutants, equivalent))


def main(result, equivalent, *picked):
    seen_by = {mutant.name: mutant.seen_by for mutant in copies.read_picked(picked)}
    print_tables(read(result), listed_mutants.read_arguments(equivalent), seen_by)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
