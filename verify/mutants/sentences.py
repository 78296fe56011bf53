#!/usr/bin/env python3
"""The sentences of docs/mutation.md that have figures, made from the campaigns that are kept.

    sentences.py RESULT.json HELD_OUT/RESULT.json UNINSTRUMENTED/RESULT.json
"""

import sys

import report
from report import share
from uninstrumented import ENDS


def killed_of(mutants):
    return [mutant for mutant in mutants if mutant["ours"] == "killed"]


def real_of(mutants):
    return [mutant for mutant in mutants if mutant["listed"] not in report.UNSEEN]


def planted(mutants):
    picked = [m for m in mutants if m["operator"] == "picked"]
    others = [m for m in picked if m["name"].startswith("planted:")]
    cache = sum(m["area"] in ("block manager", "prefix cache") for m in others)
    return [
        f"recto has {len(mutants)} faults planted in its own kernels,",
        f"**Picked**: {len(picked)} faults that others had in their systems, or that are told of"
        f" paged attention. {len(picked) - len(others)} of them are replacements in sources,",
        f"The other {len(others)} are the faults of",
        f"each of which has a test of its own: {cache} in the block manager and the prefix cache,"
        f" {len(others) - cache} in kernels, launch code and the host API.",
        f"**Drawn**: {len(mutants) - len(picked)} faults that a script made",
        f"Each of the {len(picked) - len(others)} picked mutants that are replacements in sources",
    ]


def provenance(campaign):
    return [
        f"one campaign over all mutants, of {campaign['date']}, built from commit"
        f" {campaign['built_from']}, with {campaign['jobs']} mutants at a time on two cores that"
        f" other programs used as well. It took {campaign['minutes']} minutes:"
    ]


def held_out(campaign):
    mutants = campaign["mutants"]
    real = real_of(mutants)
    ended = [sum(m["ours"] == kind for m in real) for kind in ("passed", "crashed", "clock")]
    same = sum(m["listed"] == "same code" for m in mutants)
    return [
        f"It was tried once, with the checks as they were in commit {campaign['built_from']},",
        f"Of {len(mutants)} mutants, tried on {campaign['date']}, {len(mutants) - len(real)} are"
        f" equivalent to the original, of which {same} are the same machine code; of the other"
        f" {len(real)}, **{share(len(killed_of(real)), len(real))}** were killed, {ended[0]}"
        f" survived, {ended[1]} ended in a crash and {ended[2]} by the clock.",
    ]


def uninstrumented(first, campaign):
    mutants = campaign["mutants"]
    killed, real = len(killed_of(mutants)), real_of(first)
    ended = [sum(m["ours"] == end for m in mutants) for end in (*ENDS, "passed")]
    rest = len(killed_of(real)) - len(mutants) + killed
    return [
        f"{len(mutants)} of the {len(killed_of(real))} that are killed were first seen by"
        f" instrumentation.",
        f"with sources and tests as they were in commit {campaign['built_from']}, on"
        f" {campaign['date']}:",
        f"Of these {len(mutants)}, **{killed} are killed by recto's own checks alone**. Of the"
        f" other {len(mutants) - killed}, a foreign exception ends {ended[0]}, a crash {ended[1]},"
        f" the clock {ended[2]}, and {ended[3]} survive.",
        f"Without the compiler's checks recto kills **{share(rest, len(real))}** of the first row.",
    ]


def sentences(first, second, alone):
    """Each must be in the document, however its lines are broken. Takes results as they are
    written."""
    mutants = first["mutants"]
    return [
        *planted(mutants),
        *provenance(first),
        *uninstrumented(mutants, alone),
        *held_out(second),
    ]


def main(*results):
    print("\n".join(sentences(*(report.read(result) for result in results))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
