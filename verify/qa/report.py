#!/usr/bin/env python3
"""Writes the tables of docs/mutation.md, and its sentences that have figures, from the results of
campaigns beside this file.

    report.py [--check]

The document has them between marks:

    <!-- figures: NAME -->
    ...
    <!-- end of figures -->

With --check nothing is written, and other text between marks is a failure.
"""

import json
import re
import statistics
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import copies  # noqa: E402
import outcome  # noqa: E402

HERE = Path(__file__).parent
DOCUMENT = HERE.parent.parent / "docs/mutation.md"
MARKED = re.compile(r"(<!-- figures: ([^\n]*) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)
# These laws compare results with the reference: none of them does without an oracle.
BY_REFERENCE = ["oracle", "kv_write", "kv_append", "block_copy", "block_swap", "gather"]
# How a mutant ends that is neither killed nor survives.
ENDS = {"threw": "ends in an exception of a library", "crashed": "ends in a crash"}
ENDS |= {"clock": "is ended by the clock"}


def read(result):
    """Date, commit, and mutants of a campaign, by the names that they have now."""
    campaign = json.loads((HERE / result).read_text(encoding="utf-8"))
    moved = copies.read_reasons(HERE / "moved.txt")
    for mutant in campaign["mutants"]:
        mutant["name"] = moved.get(mutant["name"], mutant["name"])
    return campaign


def killed(mutants):
    return [mutant for mutant in mutants if mutant["ours"] == "killed"]


def real(mutants):
    """Those that are not equivalent to the original."""
    return [mutant for mutant in mutants if not mutant["listed"]]


def count(mutants, *ends):
    return sum(mutant["ours"] in ends for mutant in mutants)


def is_first_by_compiler(mutant):
    return mutant["sort"] in outcome.INSTRUMENTED.values()


def is_first_by_verify(mutant):
    """By what `recto verify` has for any kernel."""
    return mutant["sort"] in (outcome.EXECUTOR, outcome.ORACLE) or mutant["sort"][:5] == "law: "


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"


def imitation_shares(mutants):
    tried = [mutant["imitations"] for mutant in real(mutants) if mutant["imitations"]]
    return [share(sum(kinds[i] == "killed" for kinds in tried), len(tried)) for i in (0, 1)]


def table(*rows):
    """A table in markdown; the first row is its heading."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    heading, *lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([heading, "|" + "---|" * len(rows[0]), *lines]) + "\n"


def split_by(key, mutants):
    """(name, mutants) for each value of a field, and for all."""
    values = sorted({mutant[key] for mutant in mutants})
    parts = [(value, [m for m in mutants if m[key] == value]) for value in values]
    return [*parts, ("all", mutants)]


def counted(heading, parts):
    """The rows of what became of the mutants, of (name, mutants) each."""
    rows = [[heading, "mutants", "equivalent", "killed", "first by recto verify", "by own tests"]]
    rows[0] += ["by the compiler's checks", "survived", "other end"]
    rows[0] += ["fixed tolerance", "factor two"]
    for name, part in parts:
        dead = killed(real(part))
        verify, compiler = sum(map(is_first_by_verify, dead)), sum(map(is_first_by_compiler, dead))
        row = [name, len(part), len(part) - len(real(part)), share(len(dead), len(real(part)))]
        row += [verify, len(dead) - verify - compiler, compiler]
        row += [count(real(part), "passed"), count(real(part), *ENDS), *imitation_shares(part)]
        rows.append(row)
    return rows


def counts(key, mutants):
    return table(*counted(key, split_by(key, mutants)))


def without_compiler(first, uninstrumented):
    """The first campaign, with the outcomes that mutants had without the compiler's checks."""
    retried = {mutant["name"]: mutant for mutant in uninstrumented}
    return [retried.get(mutant["name"], mutant) for mutant in first]


def summary(first, second, uninstrumented):
    parts = [
        ("picked ones and the first draw", first),
        ("the same, without the compiler's checks", without_compiler(first, uninstrumented)),
        ("a second draw", second),
    ]
    rows = [row[:4] + row[-2:] for row in counted("campaign", parts)]
    return f"recto has {len(first)} faults planted in its own code.\n\n{table(*rows)}"


def paragraph(*sentences):
    return textwrap.fill(" ".join(sentences), 120, break_on_hyphens=False) + "\n"


def planted(mutants):
    picked = [mutant for mutant in mutants if mutant["operator"] == "picked"]
    known = [mutant for mutant in picked if mutant["name"].startswith("planted:")]
    cache = sum(mutant["area"] in ("block manager", "prefix cache") for mutant in known)
    return paragraph(
        f"Of the {len(mutants)} mutants {len(picked)} are picked, and {len(mutants) - len(picked)}",
        f"are drawn. Of the picked ones {len(known)} have to be found by certain tests: {cache} in",
        f"the block manager and the prefix cache, {len(known) - cache} in kernels, launch code and",
        "the host API.",
    )


def provenance(campaign):
    return paragraph(
        f"The tables are of one campaign over all mutants, of {campaign['date']}, built from",
        f"commit {campaign['built_from']}, with {campaign['jobs']} mutants at a time on two cores",
        f"that other programs used as well. It took {campaign['minutes']} minutes. Since then the",
        f"lines of {len(copies.read_reasons(HERE / 'moved.txt'))} of them have moved or been",
        "reworded (`verify/qa/moved.txt`); `//verify/qa:report_test` prints those that are gone",
        "with their lines. This command runs the campaign again:",
    )


def compiler_sentences(first, campaign):
    mutants = campaign["mutants"]
    dead, whole = len(killed(mutants)), real(without_compiler(first, mutants))
    threw, crashed, clock = (count(mutants, end) for end in ENDS)
    return paragraph(
        f"The compiler's checks saw {len(mutants)} of the {len(killed(real(first)))} killed",
        "mutants first. These were tried again in copies without such checks, built from commit",
        f"{campaign['built_from']}, on {campaign['date']}: **{dead} are killed by recto's own",
        f"checks alone**. Of the other {len(mutants) - dead}, an exception of a library ends",
        f"{threw}, a crash {crashed}, the clock {clock}, and {count(mutants, 'passed')} survive.",
        f"So without these checks recto kills **{share(len(killed(whole)), len(whole))}**.",
    )


def second_sentences(campaign):
    mutants, others = campaign["mutants"], real(campaign["mutants"])
    return paragraph(
        f"It was tried once, on {campaign['date']}, with the checks as they were in commit",
        f"{campaign['built_from']}. Of {len(mutants)} mutants, {len(mutants) - len(others)} are",
        f"equivalent to the original. Of the other {len(others)},",
        f"**{share(len(killed(others)), len(others))}** were killed, {count(others, 'passed')}",
        f"survived, {count(others, 'crashed')} ended in a crash and {count(others, 'clock')} by",
        "the clock.",
    )


def not_killed(mutants, reasons):
    rows = [["mutant", "what", "how it ended", "remark"]]
    for mutant in real(mutants):
        if mutant["ours"] != "killed":
            end = ENDS.get(mutant["ours"], "survives")
            end += f", in \"{mutant['by']}\"" if mutant["by"] and "said" in mutant else ""
            rows.append([mutant["name"], mutant["text"], end, reasons.get(mutant["name"], "")])
    return table(*rows)


def equivalent(mutants, reasons):
    names = [(mutant["name"], mutant["text"]) for mutant in mutants if mutant["listed"]]
    return table(["equivalent", "what", "why"], *((*n, reasons[n[0]]) for n in names))


def killers(mutants):
    """By sort of check, those that killed most first."""
    sorts = split_by("sort", killed(mutants))[:-1]
    rows = [["killed by", "mutants", "by how many tests", "seconds to kill, median", "most"]]
    for sort, part in sorted(sorts, key=lambda item: -len(item[1])):
        seconds = [mutant["seconds"] for mutant in part]
        tests = len({mutant["by"] for mutant in part})
        times = [f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]
        rows.append([sort, len(part), tests, *times])
    seen = [mutant for mutant in killed(mutants) if mutant["sort"] == outcome.EXECUTOR]
    own = sum(not mutant["by"].startswith("finder: ") for mutant in seen)
    sentence = paragraph(
        f"Of the {len(seen)} that checks of the executor saw first, {own} were seen while a test",
        "of recto's own parts ran, the others while cases for the oracle did.",
    )
    return f"{table(*rows)}\n{sentence}"


def alone(campaign):
    """What each kills with nothing before it."""
    rows = [["area", "mutants", "all of recto's checks", "recto verify alone"]]
    rows[0] += ["laws alone, no oracle", "fixed tolerance", "factor two"]
    for area, part in split_by("area", campaign["mutants"]):
        without_oracle = sum(not set(BY_REFERENCE).issuperset(m["alone"]["laws"]) for m in part)
        verify = sum(mutant["alone"]["verify"] == "killed" for mutant in part)
        shares = [share(n, len(part)) for n in (len(killed(part)), verify, without_oracle)]
        rows.append([area, len(part), *shares, *imitation_shares(part)])
    tried = f"Tried on {campaign['date']}, built from commit {campaign['built_from']}:"
    return f"{tried}\n\n{table(*rows)}"


def laws(campaign):
    """The mutants that each law kills with nothing before it, and those that no other law kills."""
    kills = [mutant["alone"]["laws"] for mutant in campaign["mutants"]]
    rows = []
    for law in sorted(campaign["laws"]):
        with_what = "the reference" if law in BY_REFERENCE else "the same backend"
        rows.append([law, sum(law in k for k in kills), sum(k == [law] for k in kills), with_what])
    rows.sort(key=lambda row: -row[1])
    heading = ["law", "mutants that it kills", "that no other law kills", "compares with"]
    return table(heading, *rows)


def seen_otherwise(mutants, seen_by):
    """Killed by another sort of check than they were picked for."""
    tried = [mutant for mutant in killed(mutants) if seen_by.get(mutant["name"])]
    rows = [["mutant", "expected to be seen by", "was killed by", "which is"]]
    for mutant in tried:
        expected = seen_by[mutant["name"]]
        if mutant["sort"] not in expected:
            rows.append([mutant["name"], " or ".join(expected), mutant["sort"], mutant["by"]])
    share_of_them = f"{len(rows) - 1} of {len(tried)}"
    return f"{share_of_them} were killed by another sort of check:\n\n{table(*rows)}"


def figures():
    """What stands between the marks of each name."""
    first, second = read("result.json"), read("held_out/result.json")
    bare, by_laws = read("uninstrumented/result.json"), read("laws_alone/result.json")
    mutants, drawn = first["mutants"], second["mutants"]
    picked = copies.read_picked(sorted(HERE.glob("picked/*/*.txt")))

    def reasons(name):
        return copies.read_reasons(HERE / name)

    return {
        "summary": summary(mutants, drawn, bare["mutants"]),
        "planted": planted(mutants),
        "provenance": provenance(first),
        "uninstrumented": f"{compiler_sentences(mutants, bare)}\n{counts('area', bare['mutants'])}",
        "uninstrumented, not killed": not_killed(
            bare["mutants"], reasons("uninstrumented/survived.txt")
        ),
        "second draw": f"{second_sentences(second)}\n{counts('area', drawn)}",
        "second draw, not killed": not_killed(drawn, reasons("held_out/survived.txt")),
        "second draw, killers": killers(drawn),
        "second draw, equivalent": equivalent(drawn, reasons("held_out/equivalent.txt")),
        "areas": counts("area", mutants),
        "operators": counts("operator", mutants),
        "killers": killers(mutants),
        "alone": alone(by_laws),
        "laws": laws(by_laws),
        "equivalent": equivalent(mutants, reasons("equivalent.txt")),
        "seen otherwise": seen_otherwise(mutants, {m.name: m.seen_by for m in picked}),
    }


def filled(text):
    """The document's text with the figures of today."""
    found = figures()
    return MARKED.sub(lambda mark: mark[1] + found[mark[2]] + mark[4], text)


def main(arguments):
    text = DOCUMENT.read_text(encoding="utf-8")
    if filled(text) == text:
        return 0
    if arguments == ["--check"]:
        print("docs/mutation.md differs from the results: run python3 verify/qa/report.py")
        return 1
    DOCUMENT.write_text(filled(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
