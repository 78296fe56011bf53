#!/usr/bin/env python3
"""Wakes mutants, one process each, and tells who is killed, by what, and how fast.

    campaign.py --program PROGRAM --mutants MUTANTS.json --equivalent EQUIVALENT.txt --open OPEN.txt
                [--sample N] [--jobs N] [--seconds S] [--only NAME...]

PROGRAM is a Catch2 test of the copies. Its cases named "imitation: ..." are what others do, and
are counted beside the rest, which is ours. A mutant is killed by an assertion or by a check of the
executor. What a crash or the clock ends is told apart. Fails if a mutant survives that is not
listed as equivalent or open, if one is killed that is, or if there is a finding without a mutant.
Open are those that ought to be killed, and are not yet; tables count them as survivors. A sample
has N mutants of each area, always the same ones.
"""

import argparse
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
import report  # noqa: E402

# Groups of cases, by the files they are in or by their names, and whose mutants meet which first.
GROUPS = {
    "first cases": ["finder: oracle\\, a few cases"],
    "refusals": [
        "[#attention_refusals_test],[#kernel_refusals_test],[#group_scores_refusals_test]",
        "[#host_api_refusals_test],[#host_api_plans_test],[#caller_shapes_test]",
        "[#cache_ops_test],[#device_scales_test],[#gather_op_test],[#host_api_thresholds_test]",
        "[#bad_input_walk_test],[#bad_input_cache_walk_test],[#bad_input_shapes_walk_test]",
        "[#flash_attn_call_test]",
    ],
    "contents": ["[#contents_check_test],[#contents_checks_test]"],
    "moves": [
        "[#kernel_cache_ops_property_test],[#kv_append_property_test]",
        "[#fp8_codes_test],[#kernel_cache_thresholds_test],[#cache_checks_test]",
    ],
    "scores": ["[#group_scores_test]"],
    "thresholds": ["[#high_block_ids_test],[#kernel_thresholds_test]"],
    "laws": ["finder: laws*"],
    "more cases": ["finder: oracle\\, more cases", "finder: oracle\\, preempted"],
}
PREFERRED = [
    (r"contents_check", ["contents", "refusals"]),
    (r"group_scores|row_tile", ["scores"]),
    (r"kv_write|kv_append|block_copy|gather|rotary|row_move", ["moves"]),
    (r"block_cursor", ["first cases", "thresholds", "moves"]),
    (r"kv_scale|element\.cuh|row_access", ["first cases", "moves"]),
    (r"\.cuh", ["first cases"]),
    (r"\.cu", ["refusals"]),
]
# Minutes, which a sample has for mutants alone that nothing else kills, and are not equivalent.
LONG = ["laws", "more cases"]
IMITATIONS = ["imitation: fixed tolerance", "imitation: factor two"]
HEADER = re.compile(r"^-{79}\n(\S.*?)\n(?:  .*\n)*-{79}\n", re.MULTILINE)
BY_THE_CLOCK = "no switch"


class Outcome:
    """Of one program under one mutant: "passed", "killed", "crashed" or "clock"."""

    def __init__(self, kind, by="", said=""):
        self.kind, self.by, self.said = kind, by, said


def run(program, spec, number, seconds):
    environment = {**os.environ, "RECTO_MUTANT": str(number)}
    environment.pop("TESTBRIDGE_TEST_ONLY", None)
    command = [program, "-#", spec, "--abort"]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("clock")
    if done.returncode == 0:
        if "All tests passed" not in done.stdout:
            sys.exit(f"'{spec}' did not run:\n{done.stdout[-2000:]}")
        return Outcome("passed")
    header = HEADER.search(done.stdout)
    by = header[1] if header else ""
    if done.returncode < 0 or "fatal error condition" in done.stdout:
        return Outcome("crashed", by)
    if not header:
        return Outcome("crashed", by, done.stdout[-200:])
    said = " ".join(done.stdout[header.end() :].split())
    return Outcome("clock" if BY_THE_CLOCK in said else "killed", by, said[:300])


def stages_of(mutant, left_out):
    """The specs of all groups but these, in the order in which they are likely to kill."""
    file = mutant["place"].split(":")[0]
    first = next(groups for pattern, groups in PREFERRED if re.search(pattern, file))
    names = first + [name for name in GROUPS if name not in first]
    return [spec for name in names for spec in GROUPS[name] if name not in left_out]


def try_mutant(asked, mutant, is_listed):
    """Adds what ours and the imitations say, and how long ours took to kill."""
    begin = time.monotonic()
    ours = Outcome("passed")
    for stage in stages_of(mutant, LONG if is_listed and asked.sample else []):
        outcome = run(asked.program, stage, mutant["number"], asked.seconds)
        # What ends in a crash may be told by others, who look at accesses.
        if outcome.kind == "killed" or ours.kind == "passed":
            ours = outcome
        if outcome.kind == "killed":
            break
    mutant["ours"], mutant["seconds"] = ours, time.monotonic() - begin
    mutant["imitations"] = [
        run(asked.program, spec, mutant["number"], asked.seconds) for spec in asked.imitations
    ]
    print(line_of(mutant), flush=True)
    return mutant


def line_of(mutant):
    ours = mutant["ours"]
    others = " ".join(outcome.kind for outcome in mutant["imitations"])
    return (
        f"{ours.kind:7} {mutant['seconds']:6.1f} s  {mutant['name']}  [{others}]  "
        f"{mutant['place']}  {ours.by}"
    )


def failures_without_mutant(asked, pool):
    """Whoever finds something where nothing is wrong finds nothing."""
    left_out = LONG if asked.sample else []
    specs = [spec for name in GROUPS for spec in GROUPS[name] if name not in left_out]
    outcomes = pool.map(lambda spec: run(asked.program, spec, 0, asked.seconds), specs + IMITATIONS)
    return [
        f"without a mutant '{outcome.by}' {outcome.kind}: {outcome.said}"
        for outcome in outcomes
        if outcome.kind != "passed"
    ]


def failures_of(mutant, equivalent, still_open):
    ours = mutant["ours"]
    if mutant["name"] in still_open:
        return [f"{mutant['name']} is open, and killed: strike it"] if ours.kind == "killed" else []
    if mutant["name"] in equivalent and ours.kind != "passed":
        return [f"{mutant['name']} is equivalent, and {ours.kind} by '{ours.by}'"]
    if mutant["name"] not in equivalent and ours.kind != "killed":
        return [f"{mutant['name']} {ours.kind} ({mutant['place']}: {mutant['text']})"]
    return []


def sample_of(mutants, each):
    """So many of each area, the first ones in an order that their names make."""
    order = sorted(mutants, key=lambda m: hashlib.sha256(m["name"].encode()).hexdigest())
    found = []
    for area in sorted({mutant["area"] for mutant in mutants}):
        found += [mutant for mutant in order if mutant["area"] == area][:each]
    return found


def read_arguments(path):
    """Names, and the argument of each."""
    arguments = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, argument = line.partition(": ")
            arguments[name.strip()] = argument.strip()
    return arguments


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--mutants", type=Path, required=True)
    parser.add_argument("--equivalent", type=Path, required=True)
    parser.add_argument("--open", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--imitations", nargs="*", default=IMITATIONS)
    asked = parser.parse_args(arguments)
    asked.program = str(Path(asked.program).absolute())
    return asked


def main(arguments):
    asked = parse(arguments)
    equivalent = read_arguments(asked.equivalent)
    still_open = read_arguments(asked.open)
    listed_ones = {**equivalent, **still_open}
    listed = json.loads(asked.mutants.read_text(encoding="utf-8"))
    mutants = sample_of(listed["mutants"], asked.sample) if asked.sample else listed["mutants"]
    if asked.only:
        mutants = [m for m in mutants if any(part in m["name"] for part in asked.only)]
    with ThreadPoolExecutor(asked.jobs) as pool:
        failures = failures_without_mutant(asked, pool)
        tried = list(pool.map(lambda m: try_mutant(asked, m, m["name"] in listed_ones), mutants))
    report.print_tables(tried, equivalent)
    failures += [failure for m in tried for failure in failures_of(m, equivalent, still_open)]
    names = {mutant["name"] for mutant in listed["mutants"]}
    failures += [f"{name}: is listed, and is not there" for name in set(listed_ones) - names]
    for mutant in tried:
        if mutant["name"] in still_open:
            print(f"open: {mutant['name']}: {still_open[mutant['name']]}")
    drawn = sum(mutant["operator"] != "picked" for mutant in listed["mutants"])
    print(f"{len(listed['gone'])} drawn mutants are gone, with the lines they were in")
    if 10 * len(listed["gone"]) > drawn:
        failures.append("more than one drawn mutant in ten is gone: draw them anew (README.md)")
    for failure in failures:
        print(f"FAILED: {failure}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = used.ru_utime + used.ru_stime
    print(
        f"{len(tried)} of {len(listed['mutants'])} mutants, {len(failures)} failures,"
        f" {cpu_seconds:.0f} s of a CPU"
    )
    return 1 if failures or not tried else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
