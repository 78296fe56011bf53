#!/usr/bin/env python3
"""A benchmark program lists its cases, refuses unknown flags, and runs each case briefly; without a
GPU it returns the exit code for that.

    smoke_test.py PROGRAM
"""

import os
import re
import subprocess
import sys

NO_GPU = 3


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def main(program):
    status, listed, _ = run(program, "--benchmark_list_tests")
    if status != 0 or len(listed.splitlines()) < 10:
        return f"--benchmark_list_tests: exit code {status} and {listed!r}"
    if "no GPU" in listed:
        return "a list needs no GPU"
    status, told, _ = run(program, "--help")
    if status != 0 or not all(flag in told for flag in
                              ("--full", "--samples=N", "--card", "--benchmark_filter")):
        return f"--help: exit code {status} and {told!r}"
    status, _, complaint = run(program, "--sample=2")
    if status != 2 or "--sample=2: unknown; expected" not in complaint:
        return f"--sample=2: exit code {status} and {complaint!r}"
    status, _, complaint = run(program, "--samples=0")
    if status != 2 or "expected 1 to 100000" not in complaint:
        return f"--samples=0: exit code {status} and {complaint!r}"
    status, printed, complaint = run(program, "--samples=1")
    if status == NO_GPU:
        if not re.fullmatch("no GPU: .+\n", printed) or complaint:
            return f"expected one line, 'no GPU: WHY', got {printed!r} and {complaint!r}"
        print(f"SKIPPED: {os.path.basename(program)}: {printed}", end="")
        return None
    print(printed)
    return None if status == 0 else f"exit code {status}: {complaint}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
