#!/usr/bin/env python3
"""Every build of the cover prints the same bits, and ends well.

    kernel_cover_test.py MODE=PROGRAM ...

The first is what the others are held against. A mode whose compiler is missing is skipped, and said
to be.
"""

import subprocess
import sys


def run(program):
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def first_difference(expected, seen):
    for a, b in zip(expected.splitlines(), seen.splitlines()):
        if a != b:
            return f"expected '{a}', got '{b}'"
    return f"expected {len(expected.splitlines())} lines, got {len(seen.splitlines())}"


def main(*arguments):
    modes = [argument.split("=", 1) for argument in arguments]
    status, expected, errors = run(modes[0][1])
    if status != 0 or not expected:
        print(f"{modes[0][0]} ended with {status}: {errors}")
        return 1
    failures = 0
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
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
