#!/usr/bin/env python3
"""Activates mutants, one process each, and reports which are killed, by what, and how fast.

    campaign.py --programs KIND=PROGRAM=MUTANTS... --equivalent EQUIVALENT.txt --open OPEN.txt
                [--some-programs] [--sample N] [--jobs N] [--seconds S] [--only NAME...]
                [--drawn-only]
                [--first-by-compiler RESULT.json] [--columns N] [--result JSON]
                [--built-from COMMIT] [--journal JSONL]

A program is a Catch2 test of the copies (programs.py has the kinds). Its cases named "imitation:
..." are what others do, and are counted beside the rest, which is ours. A mutant is killed by an
assertion, by a broken contract, as checks of the executor are told, or by those of bounds and of
what C++ does not define (bounds.cc). What another exception, a crash or the clock ends is told
apart. Of N mutants, what `recto verify` kills alone, and what each law (alone.py). Fails if a
mutant survives that is not listed as equivalent or open, if one is killed that is, or if there is a
finding without a mutant. Open are those that ought to be killed, and are not yet; tables count them
as survivors. A sample has N mutants of each area, always the same ones. Of copies that are built
without instrumentation, those that it was the first to see: they fail nothing where they survive.
"""

import argparse
import datetime
import hashlib
import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import alone  # noqa: E402
import listed_mutants  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from journal import Journal  # noqa: E402
from outcome import Outcome, run  # noqa: E402

class Trial:
    """Tries one mutant of a program: the outcomes of our checks and of the imitations."""

    def __init__(self, program, mutant, listed):
        self.program, self.mutant, self.listed = program, mutant, listed
        self.ours, self.imitations, self.seconds = Outcome("passed"), [], 0.0
        self.alone = None
        self.kept = None

    def run(self, asked, journal):
        self.kept = journal.result_of(self.mutant["name"])
        if self.kept:
            self.ours = Outcome(self.kept["ours"], self.kept["by"])
        else:
            self.attempt(asked)
            journal.add(self.result())

    def attempt(self, asked):
        begin = time.monotonic()
        number = self.mutant["number"]
        left_out = self.program.long if self.listed and asked.sample else []
        for stage in self.program.stages_of(self.mutant, left_out):
            outcome = run(self.program, stage, number, asked.seconds)
            outcome.sort = outcome.sort or self.program.group_of(stage)
            # What ends in a crash or an exception may be explained by checks that look at accesses.
            if outcome.kind == "killed" or self.ours.kind == "passed":
                self.ours = outcome
            if outcome.kind == "killed":
                break
        self.seconds = time.monotonic() - begin
        for spec in self.program.imitations:
            self.imitations.append(run(self.program, spec, number, asked.seconds).kind)
        if self.alone:
            self.alone.run(self.program, number, asked.seconds)
        print(self.line(), flush=True)

    def line(self):
        return (
            f"{self.ours.kind:7} {self.seconds:6.1f} s  {self.mutant['name']}"
            f"  [{' '.join(self.imitations)}]  {self.mutant['place']}  {self.ours.by}"
            f"{self.alone_text()}"
        )

    def alone_text(self):
        if not self.alone:
            return ""
        return f"  alone: {self.alone.verify.kind}; laws: {' '.join(self.alone.laws) or 'none'}"

    def failures(self):
        kind, name, place = self.ours.kind, self.mutant["name"], self.mutant["place"]
        if self.listed == "open":
            return [f"{name} is open, and killed: strike it"] if kind == "killed" else []
        if self.listed in report.UNSEEN and kind != "passed":
            return [f"{name} is listed as equivalent, and {kind} by '{self.ours.by}'"]
        if not self.listed and kind != "killed":
            return [f"{name} {kind} ({place}: {self.mutant['text']})"]
        return []

    def result(self):
        """What tables are made from."""
        if self.kept:
            return self.kept
        mutant = self.mutant
        result = {key: mutant[key] for key in ("name", "area", "operator", "place", "text")} | {
            "listed": self.listed,
            "ours": self.ours.kind,
            "by": self.ours.by,
            "sort": self.ours.sort if self.ours.kind == "killed" else "",
            "said": self.ours.shown() if self.ours.kind != "passed" else "",
            "seconds": round(self.seconds, 1),
            "imitations": self.imitations,
        }
        return result | ({"alone": self.alone.result()} if self.alone else {})


def failures_without_mutant(asked, found, pool):
    """A check that also fails without a mutant proves nothing."""
    runs = []
    for program in found:
        specs = program.specs(program.long if asked.sample else []) + program.imitations
        runs += [(program, spec) for spec in specs]
    outcomes = list(pool.map(lambda one: run(*one, 0, asked.seconds), runs))
    laws = [(program, law) for program in found for law in program.laws]
    outcomes += pool.map(lambda one: alone.run_law(*one, 0), laws)
    return [
        f"without a mutant '{outcome.by}' {outcome.kind}: {outcome.said}"
        for outcome in outcomes
        if outcome.kind != "passed"
    ]


def shuffled(trials):
    """In an order that depends only on their names."""
    return sorted(trials, key=lambda t: hashlib.sha256(t.mutant["name"].encode()).hexdigest())


def sample_of(trials, each):
    """So many mutants of each area, always the same ones."""
    order = shuffled(trials)
    found = []
    for area in sorted({trial.mutant["area"] for trial in trials}):
        found += [trial for trial in order if trial.mutant["area"] == area][:each]
    return found


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", nargs="+", required=True)
    parser.add_argument("--some-programs", action="store_true", help="lists name others', too")
    parser.add_argument("--equivalent", type=Path, required=True)
    parser.add_argument("--open", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--drawn-only", action="store_true", help="no picked ones")
    parser.add_argument(
        "--first-by-compiler", type=Path, help="those alone of that result; survivors are counted"
    )
    parser.add_argument(
        "--columns", type=int, default=0, metavar="N",
        help="of so many mutants, what recto verify alone kills, and each law alone",
    )
    parser.add_argument("--result", type=Path, help="is written, for tables")
    parser.add_argument("--built-from", default="", help="the commit, for the result")
    parser.add_argument(
        "--journal", type=Path, help="keeps each result at once; those of this commit are taken up"
    )
    return parser.parse_args(arguments)


def trials_of(asked, found, listed):
    trials = [Trial(p, m, listed.get(m["name"])) for p in found for m in p.mutants]
    if asked.drawn_only:
        trials = [t for t in trials if t.mutant["operator"] != "picked"]
    if asked.first_by_compiler:
        mutants = report.read(asked.first_by_compiler)["mutants"]
        names = {mutant["name"] for mutant in mutants if report.is_first_by_compiler(mutant)}
        return [t for t in trials if t.mutant["name"] in names]
    if asked.only:
        return [t for t in trials if any(part in t.mutant["name"] for part in asked.only)]
    return sample_of(trials, asked.sample) if asked.sample else trials


def failures_of_lists(asked, found, listed):
    """Names that no longer exist, and too many drawn mutants that are gone with their lines."""
    mutants = [mutant for program in found for mutant in program.mutants]
    expected = set() if asked.some_programs else listed.keys()
    failures = [f"{name}: is listed, and is not there" for name in expected - {
        mutant["name"] for mutant in mutants
    }]
    gone = [name for program in found for name in program.gone]
    print(f"{len(gone)} drawn mutants are gone, with the lines they were in")
    if 10 * len(gone) > sum(mutant["operator"] != "picked" for mutant in mutants):
        failures.append("more than one drawn mutant in ten is gone: draw them anew (README.md)")
    return failures


def seen_by_of(mutants):
    """Names of picked mutants, and the sorts of checks that ought to see each."""
    return {mutant["name"]: mutant["seen_by"] for mutant in mutants if "seen_by" in mutant}


def head_of(asked, found, seconds):
    """The beginning of a result."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    head = {"date": today, "built_from": asked.built_from, "jobs": asked.jobs}
    head |= {"minutes": round(seconds / 60)}
    laws = [law for program in found for law in program.laws]
    return head | ({"laws": laws} if laws else {})


def write_result(path, head, results):
    """For the tables of docs/mutation.md, and `recto mutants`."""
    head = head | {"mutants": []}
    lines = ",\n".join(json.dumps(result) for result in results)
    path.write_text(f"{json.dumps(head)[:-2]}\n{lines}\n]}}\n", encoding="utf-8")


def main(arguments):
    asked = parse(arguments)
    found = programs.programs_of(asked.programs)
    equivalent = listed_mutants.read_arguments(asked.equivalent)
    still_open = listed_mutants.read_arguments(asked.open)
    listed = listed_mutants.read_lists(asked.equivalent, asked.open)
    trials = trials_of(asked, found, listed)
    if asked.columns:
        for program in found:
            program.laws = alone.laws_of(program) if program.imitations else []
    seen = [t for t in trials if t.program.laws and t.listed not in report.UNSEEN]
    for trial in shuffled(seen)[: asked.columns]:
        trial.alone = alone.Alone()
    journal = Journal(asked.journal, asked.built_from)
    with ThreadPoolExecutor(asked.jobs) as pool:
        failures = failures_without_mutant(asked, found, pool)
        list(pool.map(lambda trial: trial.run(asked, journal), trials))
    results = [trial.result() for trial in trials]
    mutants = [trial.mutant for trial in trials]
    head = head_of(asked, found, journal.seconds())
    report.print_tables(head | {"mutants": results}, equivalent, seen_by_of(mutants))
    if not asked.first_by_compiler:
        failures += [failure for trial in trials for failure in trial.failures()]
    failures += failures_of_lists(asked, found, listed)
    for result in results:
        if result["listed"] == "open":
            print(f"open: {result['name']}: {still_open[result['name']]}")
    if asked.result:
        # Under Bazel, among the outputs of the test.
        folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")
        write_result(Path(folder) / asked.result, head, results)
    for failure in failures:
        print(f"FAILED: {failure}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_of_them = sum(len(program.mutants) for program in found)
    print(
        f"{len(trials)} of {all_of_them} mutants, {len(failures)} failures,"
        f" {used.ru_utime + used.ru_stime:.0f} s of a CPU"
    )
    return 1 if failures or not trials else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
