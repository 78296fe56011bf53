#!/usr/bin/env python3
"""Every build of the cover must print the same bits, and succeed.

    kernel_cover_test.py [--least KERNEL=COUNT ...] [--planted KERNEL ...] [--branching KERNEL ...]
                         [--schedules MODE ...] MODE=PROGRAM ...

The first program is the reference for the others. A mode whose compiler is missing is skipped with
a message. --planted: with tainted memory, too long contexts must be reported for each named kernel
(or the only one); without it, they must not. For kernels that branch on what they read
(--branching), MemorySanitizer reports them; for the others, the program names the element that
depends on them. --least: the minimum number of results per kernel. --schedules: these modes must
print the same bits as the first program under every schedule.
"""

import argparse
import re
import subprocess
import sys

# Names the element, and the kernel that computed it.
TAINT = (
    r"^taint in kernel '%s': element \d+ of (out|scores) depends on memory that is not addressed$"
)


def run(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def first_difference(expected, seen):
    for a, b in zip(expected.splitlines(), seen.splitlines()):
        if a != b:
            return f"expected '{a}', got '{b}'"
    return f"expected {len(expected.splitlines())} lines, got {len(seen.splitlines())}"


def counts_of(text):
    """Results per kernel, as the program counted them, and as lines in its output."""
    told = {name: int(count) for name, count in re.findall(r"^count (\S+) (\d+)$", text, re.M)}
    lines = {}
    for name in told:
        lines[name] = len(re.findall(rf" {name} [a-z0-9 ]*[0-9a-f]{{16}}$", text, re.M))
    return told, lines


def failures_of_counts(text, least):
    """Counts kernels with too few results, or with another number than the program says."""
    told, lines = counts_of(text)
    failures = 0
    for name, count in sorted(told.items()):
        print(f"{name}: {count} results" + (f", {least[name]} expected" if name in least else ""))
    if told != lines:
        print(f"FAILED: {told} results are counted, {lines} printed")
        failures += 1
    for name, count in least.items():
        if told.get(name, 0) < count:
            print(f"FAILED: expected {count} results of {name}, got {told.get(name, 0)}")
            failures += 1
    return failures


def ends_at_branch(program, *arguments):
    """Whether MemorySanitizer ends the program at a tainted branch or address."""
    status, _, errors = run(program, *arguments)
    return status != 0 and "use-of-uninitialized-value" in errors


def sees_planted(program, kernel, is_branching):
    """Whether each planted fault is detected: a tainted output, and a tainted address."""
    names = [kernel] if kernel else []
    if is_branching:
        is_slot_seen = ends_at_branch(program, "slot", *names)
    else:
        status, slot, _ = run(program, "slot", *names)
        taint = re.compile(TAINT % (re.escape(kernel) if kernel else "[a-z-]+"), re.MULTILINE)
        is_slot_seen = status == 1 and taint.search(slot) is not None
    return [is_slot_seen, ends_at_branch(program, "entry", *names)]


def failures_of_planted(mode, program, kernels, branching):
    expected = [mode == "taint"] * 2
    failures = 0
    for kernel in kernels or [""]:
        seen = sees_planted(program, kernel, kernel in branching)
        where = f" in {kernel}" if kernel else ""
        if seen == expected:
            how = "" if seen[0] else "not "
            print(f"{mode}: planted faults of slot and table{where} are {how}seen")
        else:
            print(f"FAILED: {mode} sees faults of slot, table{where}: {seen}, expected {expected}")
            failures += 1
    return failures


def failures_against(expected, mode, program, *arguments):
    """1 if the program does not print what is expected, else 0; None if it is skipped."""
    status, seen, errors = run(program, *arguments)
    of_what = " of schedules" if arguments else ""
    if seen.startswith("SKIPPED:"):
        print(f"{seen.strip()} (mode {mode})")
        return None
    if status != 0 or seen != expected:
        print(f"FAILED: {mode} ended with {status}{of_what}, {first_difference(expected, seen)}")
        print(errors[:4000])
        return 1
    print(f"{mode}: the same bits in {len(seen.splitlines())} results{of_what}")
    return 0


def failures_of_schedules(programs, modes, least):
    """Failures of the first program, and of those of `modes`, under every schedule."""
    first, *_ = programs
    status, expected, errors = run(programs[first], "schedules")
    if status != 0 or not expected:
        print(f"FAILED: {first} ended with {status} of schedules: {expected[-2000:]} {errors}")
        return 1
    failures = failures_of_counts(expected, dict.fromkeys(least, 1))
    for mode in modes:
        failures += failures_against(expected, mode, programs[mode], "schedules") or 0
    return failures


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--least", action="append", default=[])
    parser.add_argument("--planted", action="append", default=[])
    parser.add_argument("--branching", action="append", default=[])
    parser.add_argument("--schedules", action="append", default=[])
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args(arguments)
    programs = dict(program.split("=", 1) for program in options.programs)
    least = {name: int(count) for name, count in (pair.split("=") for pair in options.least)}
    first, *others = programs
    status, expected, errors = run(programs[first])
    if status != 0 or not expected:
        print(f"{first} ended with {status}: {errors}")
        return 1
    failures = failures_of_counts(expected, least)
    if "taint" in programs:
        failures += failures_of_planted(
            first, programs[first], options.planted, options.branching
        )
    for mode in others:
        found = failures_against(expected, mode, programs[mode])
        failures += found or 0
        if found == 0 and mode == "taint":
            failures += failures_of_planted(
                mode, programs[mode], options.planted, options.branching
            )
    if options.schedules:
        failures += failures_of_schedules(programs, options.schedules, least)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
