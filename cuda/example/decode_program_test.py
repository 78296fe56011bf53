#!/usr/bin/env python3
"""decode_program prints the right results, or that there is no GPU, with the matching exit code.

    decode_program_test.py PROGRAM
"""

import re
import subprocess
import sys

NO_GPU = 3
EXPECTED = [
    "sequence 0 after 40 tokens: out 20.5000, lse_ln 3.6889",
    "sequence 1 after 40 tokens: out -20.5000, lse_ln 3.6889",
]


def main(program):
    run = subprocess.run([program], capture_output=True, text=True)
    lines = run.stdout.splitlines()
    if run.returncode == NO_GPU:
        if len(lines) != 1 or not re.fullmatch("no GPU: .+", lines[0]) or run.stderr:
            return f"expected one line, 'no GPU: WHY', got {run.stdout!r} and {run.stderr!r}"
        print(f"SKIPPED: decode_program: {lines[0]}")
        return None
    if run.returncode != 0 or run.stderr:
        return f"expected exit code 0 or {NO_GPU}, got {run.returncode}: {run.stderr}"
    if not re.fullmatch(r"GQA decode, splits: \d+, workspace: \d+ bytes", lines[0]):
        return f"expected the plan first, got {lines[0]!r}"
    if lines[1:] != EXPECTED:
        return f"expected {EXPECTED}, got {lines[1:]}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
