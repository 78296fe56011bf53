#!/usr/bin/env python3
"""Tries mutants, a process for each test, and reports which are killed, by what, and how fast.

    campaign.py --programs NAME... [--sample N] [--only PART...] [--laws-alone N]
                [--held-out] [--first-by-compiler]
                [--jobs N] [--seconds N] [--built-from COMMIT] [--journal FILE]

A program NAME is NAME_trials beside this file, a Catch2 test of copies of sources (copies.py); its
mutants are in NAME_mutants.json, and its tests in programs.bzl. Writes result.json, for report.py.
With --laws-alone, it tries N mutants of kernels, always the same ones, and also tells what
`recto verify` kills alone, and what each law kills alone.
Fails if a mutant survives that is not listed as equivalent, if an equivalent one is seen, or if a
test fails without a mutant. Mutants that end in a crash, by the clock or by an exception of a
library (outcome.py) count as survivors.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import runpy
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import copies  # noqa: E402
import outcome  # noqa: E402
import report  # noqa: E402
from journal import Journal  # noqa: E402
from outcome import Outcome  # noqa: E402

HERE = Path(__file__).parent.absolute()
PROGRAMS = runpy.run_path(str(HERE / "programs.bzl"))["PROGRAMS"]
KNOWN_BUGS = "tests of known bugs"
# The test cases of laws_alone_test.cc.
LAW_NAMES, ONE_LAW = "alone: names of laws", "alone: a law"
LAW_SECONDS = 120  # for one law; without a mutant the longest takes a tenth of this


def spec_of(process):
    """What Catch2 runs in one process: test files have tags."""
    tags = [re.sub(r"^//.*:(.*)\.cc$", r"[#\1]", name) for name in process]
    return ",".join(tags)


class Program:
    """A program of programs.bzl, and its mutants."""

    def __init__(self, name):
        self.path = HERE / f"{name}_trials"
        data = PROGRAMS[name]
        self.groups = {g: [spec_of(p) for p in ps] for g, ps in data["groups"].items()}
        self.preferred, self.long = data.get("preferred", []), data.get("long", [])
        self.imitations, self.verifies = data.get("imitations", []), data.get("verifies", [])
        listed = HERE / f"{name}_mutants.json"
        self.mutants = json.loads(listed.read_text(encoding="utf-8"))["mutants"]

    def processes(self, left_out=()):
        """(group, specification) of each process, without these groups."""
        return [(g, s) for g, specs in self.groups.items() if g not in left_out for s in specs]

    def processes_for(self, mutant, left_out=()):
        """Those that are likely to kill the mutant come first. If a group has to find it, only
        those of the group; of the tests of known bugs, only the test of that bug."""
        group = mutant.get("found_by")
        if group == KNOWN_BUGS:
            return [(group, f"{mutant['source']}: *")]
        if group:
            return [(group, spec) for spec in self.groups[group]]
        path = mutant["place"].split(":")[0]
        first = next((groups for part, groups in self.preferred if re.search(part, path)), [])
        own = f"[#{Path(path).stem}_test]"

        def rank(process):
            is_first = process[0] in first
            return process[1] != own, not is_first, first.index(process[0]) if is_first else 0

        return sorted(self.processes(left_out), key=rank)


def run_law(program, law, number):
    return outcome.run(program.path, ONE_LAW, number, LAW_SECONDS, RECTO_LAW_ALONE=law)


def is_of_law(law, found):
    """Whether the law itself failed, and not the backend in the middle of it."""
    if found.kind != "killed" or outcome.THROWN.search(found.said):
        return False
    return found.sort == (outcome.ORACLE if law == "oracle" else f"law: {law}")


def try_alone(program, number, laws, seconds):
    """What the checks of a user's `recto verify` do, without any of recto's own tests: each law by
    itself; then the oracle and the laws while every access is checked, as for kernels from --cuda.
    What the compiler's checks see does not count, since a user's build has none."""

    def is_kill(found):
        return found.kind == "killed" and found.sort not in outcome.INSTRUMENTED.values()

    found = [run_law(program, law, number) for law in laws]
    killers = [law for law, one in zip(laws, found) if is_of_law(law, one)]
    for spec in program.verifies:
        if not any(map(is_kill, found)):
            found.append(outcome.run(program.path, spec, number, seconds))
    ends = [one for one in found if one.kind in ("crashed", "clock", "threw")]
    verify = [*filter(is_kill, found), *ends, Outcome("passed")][0]
    return {"verify": verify.kind, "said": verify.shown(), "laws": killers}


class Trial:
    """The trial of one mutant; `laws` are tried alone, too."""

    def __init__(self, program, mutant, is_equivalent):
        self.program, self.mutant, self.is_equivalent = program, mutant, is_equivalent
        self.laws, self.result = [], None

    def has_to_be_found(self):
        """By certain tests, so that nothing else is tried."""
        return bool(self.mutant.get("found_by"))

    def run(self, asked):
        """Goes on after a crash or an exception, which checks of accesses may explain; if they do
        not, it is what became of the mutant."""
        begin = time.monotonic()
        number, ours = self.mutant["number"], Outcome("passed")
        left_out = self.program.long if self.is_equivalent and asked.sample else []
        for group, spec in self.program.processes_for(self.mutant, left_out):
            found = outcome.run(self.program.path, spec, number, asked.seconds)
            if found.kind == "killed" or ours.kind == "passed":
                ours = found._replace(sort=found.sort or group)
            if found.kind == "killed":
                break
        self.result = {k: self.mutant[k] for k in ("name", "area", "operator", "place", "text")}
        self.result |= {
            "listed": "equivalent" if self.is_equivalent else None,
            "ours": ours.kind,
            "by": ours.by,
            "sort": ours.sort if ours.kind == "killed" else "",
            "said": ours.shown() if ours.kind != "passed" else "",
            "seconds": round(time.monotonic() - begin, 1),
            "imitations": [
                outcome.run(self.program.path, spec, number, asked.seconds).kind
                for spec in ([] if self.has_to_be_found() else self.program.imitations)
            ],
        }
        if self.laws:
            self.result["alone"] = try_alone(self.program, number, self.laws, asked.seconds)
        line = f"{ours.kind:7} {self.result['seconds']:6.1f} s  {self.mutant['name']}"
        print(f"{line}  {self.mutant['place']}  {ours.by}", flush=True)

    def failures(self):
        kind, expected = self.result["ours"], "passed" if self.is_equivalent else "killed"
        if kind == expected:
            return []
        listed = " is listed as equivalent, and" if self.is_equivalent else ""
        text = f"{self.result['place']}: {self.result['text']}"
        return [f"{self.result['name']}{listed} {kind} by '{self.result['by']}' ({text})"]


def failures_without_mutant(asked, programs, laws, pool):
    """A check that also fails without a mutant proves nothing."""
    runs = []
    for program in programs:
        specs = [spec for _, spec in program.processes(program.long if asked.sample else [])]
        for spec in specs + program.imitations:
            runs.append(pool.submit(outcome.run, program.path, spec, 0, asked.seconds))
        runs += [pool.submit(run_law, program, law, 0) for law in laws if program.verifies]
    found = [run.result() for run in runs]
    return [f"without a mutant '{f.by}' {f.kind}: {f.said}" for f in found if f.kind != "passed"]


def in_any_order(trials):
    """In an order that depends on their names alone."""
    return sorted(trials, key=lambda t: hashlib.sha256(t.mutant["name"].encode()).hexdigest())


def chosen(trials, asked):
    if asked.held_out:
        trials = [t for t in trials if t.mutant["operator"] != "picked"]
    if asked.only:
        trials = [t for t in trials if any(part in t.mutant["name"] for part in asked.only)]
    if asked.first_by_compiler:
        tried = report.read("result.json")["mutants"]
        first = {m["name"] for m in tried if report.is_first_by_compiler(m)}
        trials = [t for t in trials if t.mutant["name"] in first]
    if asked.laws_alone:
        real = [t for t in trials if not t.is_equivalent and not t.has_to_be_found()]
        trials = in_any_order([t for t in real if t.program.verifies])[: asked.laws_alone]
    if asked.sample:
        areas = sorted({t.mutant["area"] for t in trials})
        of_area = ([t for t in in_any_order(trials) if t.mutant["area"] == a] for a in areas)
        trials = [trial for trials_of_it in of_area for trial in trials_of_it[: asked.sample]]
    return trials


def laws_of(programs):
    """The names of the laws, as the program that has them prints them."""
    names = []
    for program in programs:
        if program.verifies:
            said = outcome.run(program.path, LAW_NAMES, 0, LAW_SECONDS).said
            names += re.findall(r"^law: (\w+)$", said, re.MULTILINE)
    return names


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", nargs="+", required=True, choices=PROGRAMS)
    parser.add_argument("--sample", type=int, default=0, help="N mutants of each area")
    parser.add_argument("--only", nargs="*", default=[], help="mutants with a part of their name")
    parser.add_argument("--laws-alone", type=int, default=0, help="N mutants, also by each law")
    parser.add_argument("--held-out", action="store_true", help="mutants of the held-out draw")
    parser.add_argument(
        "--first-by-compiler", action="store_true", help="as result.json has it; any may survive"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    parser.add_argument("--seconds", type=int, default=900, help="time limit of one process")
    parser.add_argument("--built-from", default="", help="the commit, for the result")
    parser.add_argument("--journal", type=Path, help="takes up results of the same commit")
    return parser.parse_args(arguments)


def main(arguments):
    asked = parse(arguments)
    programs = [Program(name) for name in asked.programs]
    folder = "held_out/" if asked.held_out else ""
    equivalent = copies.read_reasons(HERE / f"{folder}equivalent.txt")
    trials = [Trial(p, m, m["name"] in equivalent) for p in programs for m in p.mutants]
    trials = chosen(trials, asked)
    laws = laws_of(programs) if asked.laws_alone else []
    for trial in trials:
        trial.laws = laws
    journal = Journal(asked.journal, asked.built_from)

    def attempt(trial):
        trial.result = journal.results.get(trial.mutant["name"])
        if not trial.result:
            trial.run(asked)
            journal.add(trial.result)

    with ThreadPoolExecutor(asked.jobs) as pool:
        failures = failures_without_mutant(asked, programs, laws, pool)
        list(pool.map(attempt, trials))
    if not asked.first_by_compiler:
        failures += [failure for trial in trials for failure in trial.failures()]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    head = {"date": today, "built_from": asked.built_from, "jobs": asked.jobs}
    head |= {"minutes": round(journal.seconds() / 60)} | ({"laws": laws} if laws else {})
    # Under Bazel, among the outputs of the test.
    path = Path(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")) / "result.json"
    results = ",\n".join(json.dumps(trial.result) for trial in trials)
    path.write_text(f'{json.dumps(head)[:-1]}, "mutants": [\n{results}\n]}}\n', encoding="utf-8")
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{len(trials)} mutants, {len(failures)} failures")
    return 1 if failures or not trials else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
