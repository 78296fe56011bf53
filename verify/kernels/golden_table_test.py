#!/usr/bin/env python3
"""A program must print the reviewed table.

    golden_table_test.py PROGRAM GOLDEN

Where the first column is shared memory, no thread block may have more than sm_80 allows, the least
of all supported cards.
"""

import difflib
import subprocess
import sys
from pathlib import Path

MOST_BYTES = 163 * 1024 - 1024  # minus what CUDA reserves and the kernels use besides


def main(program, golden):
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    failed = False
    _, heading, *rows = printed.splitlines()
    for line in rows if heading.lstrip().startswith("shared bytes") else []:
        if int(line.split()[0]) > MOST_BYTES:
            print(f"more than {MOST_BYTES} bytes: {line}")
            failed = True
    expected = Path(golden).read_text("utf-8")
    if printed != expected:
        lines = (expected.splitlines(), printed.splitlines())
        print("\n".join(difflib.unified_diff(*lines, golden, "now", lineterm="", n=0)))
        print("if this is as it should be:")
        print(f"    ./bazelw run //{Path(program).parent}:{Path(program).name} > {golden}")
        failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
