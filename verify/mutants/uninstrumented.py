#!/usr/bin/env python3
"""Tables of mutants that the compiler's checks were the first to see, tried in copies without them.

    uninstrumented.py UNINSTRUMENTED/RESULT.json UNINSTRUMENTED/SURVIVED.txt
"""

import sys

import listed_mutants
import report

COLUMNS = ["first seen by instrumentation", "killed without it", "by oracle, laws, executor"]
COLUMNS += ["by own tests", "by a foreign exception", "crashed", "by the clock", "survived"]

ENDS = {"threw": "ends in a foreign exception", "crashed": "ends in a crash"}
ENDS |= {"clock": "is ended by the clock"}


def count(mutants, kind):
    return sum(mutant["ours"] == kind for mutant in mutants)


def row_of(name, mutants):
    killed = [mutant for mutant in mutants if mutant["ours"] == "killed"]
    verifies = sum(bool(report.VERIFIES.fullmatch(mutant["sort"])) for mutant in killed)
    cells = [name, len(mutants), report.share(len(killed), len(mutants)), verifies]
    cells.append(len(killed) - verifies)
    return cells + [count(mutants, kind) for kind in (*ENDS, "passed")]


def area_table(mutants):
    rows = [["area", *COLUMNS]]
    for area in sorted({mutant["area"] for mutant in mutants}):
        rows.append(row_of(area, [mutant for mutant in mutants if mutant["area"] == area]))
    return report.table_of([*rows, row_of("all", mutants)])


def became(mutant, survived):
    if mutant["ours"] == "passed":
        return f"survives: {survived[mutant['name']]}"
    how = ENDS[mutant["ours"]]
    return f"{how}, in \"{mutant['by']}\"" if mutant["by"] else how


def left_table(mutants, survived):
    """Mutants that none of recto's own checks kills, one by one."""
    rows = [["mutant", "what", "without the compiler's checks"]]
    for mutant in mutants:
        if mutant["ours"] != "killed":
            text = mutant["text"].replace("|", "\\|")
            rows.append([mutant["name"], text, became(mutant, survived)])
    return report.table_of(rows)


def main(result, survived):
    mutants = report.read(result)["mutants"]
    print(area_table(mutants))
    print(left_table(mutants, listed_mutants.read_arguments(survived)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
