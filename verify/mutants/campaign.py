#!/usr/bin/env python3
"""Wakes mutants, one process each, and tells who is killed, by what, and how fast.

    campaign.py --programs KIND=PROGRAM=MUTANTS... --equivalent EQUIVALENT.txt --open OPEN.txt
                [--sample N] [--jobs N] [--seconds S] [--only NAME...] [--drawn-only]
                [--first-by-compiler RESULT.json] [--result JSON] [--built-from COMMIT]

A program is a Catch2 test of the copies (programs.py has the kinds). Its cases named "imitation:
..." are what others do, and are counted beside the rest, which is ours. A mutant is killed by an
assertion, by a check of the executor, or by those of bounds and of what C++ does not define
(bounds.cc). What a crash or the clock ends is told apart. Fails if a
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
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import listed_mutants  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import watched  # noqa: E402

# Long names go on in a second line, behind their colon if they have one; sections of a case stand
# apart by two blanks.
HEADER = re.compile(r"^-{79}\n(\S.*\n(?:(?:|   +)\S.*\n)*)(?:  .*\n)*-{79}\n", re.MULTILINE)
BY_THE_CLOCK = "no switch"
# bounds.cc prints them.
LEFT = re.compile("^(out of bounds|undefined): .*", re.MULTILINE)
EXECUTOR, ORACLE = "checks of the executor", "the oracle"
CHECKED = {"out of bounds": "bounds of containers", "undefined": "undefined behaviour"}
# Of attention_finders_test.cc.
LAW = re.compile(r"explicitly with message: (\w+) on ")


class Outcome:
    """Of one program under one mutant: "passed", "killed", "crashed" or "clock"; the test case,
    what it said, and what sort of check it was, where that shows."""

    def __init__(self, kind, by="", said="", sort=None):
        self.kind, self.by, self.said, self.sort = kind, by, said, sort


def run(program, spec, number, seconds):
    environment = {**os.environ, program.variable: str(number)}
    environment.pop("TESTBRIDGE_TEST_ONLY", None)
    try:
        done = watched.run([program.path, "-#", spec, "--abort"], environment, seconds)
    except watched.Waits:
        return Outcome("crashed")
    except subprocess.TimeoutExpired:
        return Outcome("clock")
    if done.returncode == 0:
        if "All tests passed" not in done.stdout:
            sys.exit(f"'{spec}' did not run:\n{done.stdout[-2000:]}")
        return Outcome("passed")
    return outcome_of(done)


def outcome_of(done):
    """Of a program that failed."""
    left = LEFT.search(done.stdout)
    if left:
        return Outcome("killed", CHECKED[left[1]], left[0], CHECKED[left[1]])
    header = HEADER.search(done.stdout)
    by = " ".join(header[1].split()) if header else ""
    if done.returncode < 0 or "fatal error condition" in done.stdout:
        return Outcome("crashed", by)
    if not header:
        return Outcome("crashed", by, done.stdout[-200:])
    said = " ".join(done.stdout[header.end() :].split())
    kind = "clock" if BY_THE_CLOCK in said else "killed"
    return Outcome(kind, by, said[:300], sort_of(said))


def sort_of(said):
    """Which law failed; or the executor's checks, which tell the kernel they found something in."""
    if " in kernel '" in said:
        return EXECUTOR
    law = LAW.search(said)
    return law and (ORACLE if law[1] == "oracle" else f"law: {law[1]}")


class Trial:
    """One mutant of a program: what ours and the imitations say of it."""

    def __init__(self, program, mutant, listed):
        self.program, self.mutant, self.listed = program, mutant, listed
        self.ours, self.imitations, self.seconds = Outcome("passed"), [], 0.0

    def run(self, asked):
        begin = time.monotonic()
        number = self.mutant["number"]
        left_out = self.program.long if self.listed and asked.sample else []
        for stage in self.program.stages_of(self.mutant, left_out):
            outcome = run(self.program, stage, number, asked.seconds)
            outcome.sort = outcome.sort or self.program.group_of(stage)
            # What ends in a crash may be told by others, who look at accesses.
            if outcome.kind == "killed" or self.ours.kind == "passed":
                self.ours = outcome
            if outcome.kind == "killed":
                break
        self.seconds = time.monotonic() - begin
        for spec in self.program.imitations:
            self.imitations.append(run(self.program, spec, number, asked.seconds).kind)
        print(self.line(), flush=True)
        return self

    def line(self):
        return (
            f"{self.ours.kind:7} {self.seconds:6.1f} s  {self.mutant['name']}"
            f"  [{' '.join(self.imitations)}]  {self.mutant['place']}  {self.ours.by}"
        )

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
        """What tables are made of."""
        mutant = self.mutant
        return {key: mutant[key] for key in ("name", "area", "operator", "place", "text")} | {
            "listed": self.listed,
            "ours": self.ours.kind,
            "by": self.ours.by,
            "sort": self.ours.sort if self.ours.kind == "killed" else "",
            "seconds": round(self.seconds, 1),
            "imitations": self.imitations,
        }


def failures_without_mutant(asked, found, pool):
    """Whoever finds something where nothing is wrong finds nothing."""
    runs = []
    for program in found:
        specs = program.specs(program.long if asked.sample else []) + program.imitations
        runs += [(program, spec) for spec in specs]
    outcomes = pool.map(lambda one: run(*one, 0, asked.seconds), runs)
    return [
        f"without a mutant '{outcome.by}' {outcome.kind}: {outcome.said}"
        for outcome in outcomes
        if outcome.kind != "passed"
    ]


def sample_of(trials, each):
    """So many of each area, the first ones in an order that their names make."""
    order = sorted(trials, key=lambda t: hashlib.sha256(t.mutant["name"].encode()).hexdigest())
    found = []
    for area in sorted({trial.mutant["area"] for trial in trials}):
        found += [trial for trial in order if trial.mutant["area"] == area][:each]
    return found


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", nargs="+", required=True)
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
    parser.add_argument("--result", type=Path, help="is written, for tables")
    parser.add_argument("--built-from", default="", help="the commit, for the result")
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


def failures_of_lists(found, listed):
    """Names that there are not any more, and sources that have run away from what was drawn."""
    mutants = [mutant for program in found for mutant in program.mutants]
    failures = [f"{name}: is listed, and is not there" for name in listed.keys() - {
        mutant["name"] for mutant in mutants
    }]
    gone = [name for program in found for name in program.gone]
    print(f"{len(gone)} drawn mutants are gone, with the lines they were in")
    if 10 * len(gone) > sum(mutant["operator"] != "picked" for mutant in mutants):
        failures.append("more than one drawn mutant in ten is gone: draw them anew (README.md)")
    return failures


def seen_by_of(mutants):
    """Names of picked ones, and the sorts of checks that ought to see each."""
    return {mutant["name"]: mutant["seen_by"] for mutant in mutants if "seen_by" in mutant}


def write_result(path, asked, results, seconds):
    """For the tables of docs/mutation.md, and `recto mutants`."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    head = {"date": today, "built_from": asked.built_from, "jobs": asked.jobs}
    head |= {"minutes": round(seconds / 60), "mutants": []}
    lines = ",\n".join(json.dumps(result) for result in results)
    path.write_text(f"{json.dumps(head)[:-2]}\n{lines}\n]}}\n", encoding="utf-8")


def main(arguments):
    asked, begin = parse(arguments), time.monotonic()
    found = programs.programs_of(asked.programs)
    equivalent = listed_mutants.read_arguments(asked.equivalent)
    still_open = listed_mutants.read_arguments(asked.open)
    listed = listed_mutants.read_lists(asked.equivalent, asked.open)
    trials = trials_of(asked, found, listed)
    with ThreadPoolExecutor(asked.jobs) as pool:
        failures = failures_without_mutant(asked, found, pool)
        list(pool.map(lambda trial: trial.run(asked), trials))
    results = [trial.result() for trial in trials]
    mutants = [trial.mutant for trial in trials]
    report.print_tables(results, equivalent, seen_by_of(mutants))
    if not asked.first_by_compiler:
        failures += [failure for trial in trials for failure in trial.failures()]
    failures += failures_of_lists(found, listed)
    for result in results:
        if result["listed"] == "open":
            print(f"open: {result['name']}: {still_open[result['name']]}")
    if asked.result:
        # Under Bazel, among the outputs of the test.
        folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")
        write_result(Path(folder) / asked.result, asked, results, time.monotonic() - begin)
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
