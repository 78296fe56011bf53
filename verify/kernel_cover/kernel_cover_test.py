#!/usr/bin/env python3
"""Every build of the cover prints the same bits, and ends well.

    kernel_cover_test.py MODE=PROGRAM ...

The first is what the others are held against. A mode whose compiler is missing is skipped, and said
to be. With tainted memory, decode of contexts that are too long must be told; without, it is not.
"""

import re
import subprocess
import sys

# Says which element, and who has computed it.
TAINT = r"^taint in kernel '[a-z-]+': element \d+ of out depends on memory that is not addressed$"


def run(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def first_difference(expected, seen):
    for a, b in zip(expected.splitlines(), seen.splitlines()):
        if a != b:
            return f"expected '{a}', got '{b}'"
    return f"expected {len(expected.splitlines())} lines, got {len(seen.splitlines())}"


def sees_planted(program):
    """Whether each planted fault is told: an output that is tainted, and an index that is."""
    status, slot, _ = run(program, "slot")
    is_slot_seen = status == 1 and re.search(TAINT, slot, re.MULTILINE) is not None
    status, _, errors = run(program, "entry")
    return [is_slot_seen, status != 0 and "use-of-uninitialized-value" in errors]


def failures_of_planted(mode, program):
    expected = [mode == "taint"] * 2
    seen = sees_planted(program)
    if seen == expected:
        print(f"{mode}: planted faults of slot and table are {'' if seen[0] else 'not '}seen")
        return 0
    print(f"FAILED: {mode} sees planted faults of slot, table: {seen}, expected {expected}")
    return 1


def main(*arguments):
    modes = [argument.split("=", 1) for argument in arguments]
    status, expected, errors = run(modes[0][1])
    if status != 0 or not expected:
        print(f"{modes[0][0]} ended with {status}: {errors}")
        return 1
    failures = failures_of_planted(*modes[0]) if "taint" in dict(modes) else 0
    for mode, program in modes[1:]:
        status, seen, errors = run(program)
        if seen.startswith("SKIPPED:"):
            print(f"{seen.strip()} (mode {mode})")
        elif status != 0 or seen != expected:
            failures += 1
            print(f"FAILED: {mode} ended with {status}, {first_difference(expected, seen)}")
            print(errors[:4000])
        else:
            print(f"{mode}: the same bits in {len(seen.splitlines())} results")
            if mode == "taint":
                failures += failures_of_planted(mode, program)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
