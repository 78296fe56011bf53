#!/usr/bin/env python3
"""docs/kernels.md has each line that kernel_traffic_table prints before its counts.

Counts follow the host's compiler; kernel_traffic_test holds their limits.
"""

import subprocess
import sys

COUNTS = "| kernel | layout |"


def main():
    program, document = sys.argv[1:]
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    before_counts, _, counts = printed.partition(COUNTS)
    if not before_counts or not counts:
        sys.exit(f"{program}: expected tables, and counts after a line of {COUNTS!r}")
    with open(document, encoding="utf-8") as file:
        lines = set(file.read().splitlines())
    missing = [line for line in before_counts.splitlines() if line and line not in lines]
    for line in missing:
        print(f"{document}: missing: {line}")
    if COUNTS not in "\n".join(lines):
        sys.exit(f"{document}: expected a table of counts, {COUNTS!r}")
    if missing:
        sys.exit(f"{document}: {len(missing)} lines differ; run //verify:kernel_traffic_table")


if __name__ == "__main__":
    main()
