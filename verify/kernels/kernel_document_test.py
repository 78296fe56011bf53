#!/usr/bin/env python3
"""docs/kernels.md must have each line that kernel_traffic_table prints, and no other counts.

Counts depend on the host's compiler and heap, since small buffers may share sectors: each may
differ by TOLERANCE, the bytes that no lane requested by TOLERANCE of the bytes moved. Bank
conflicts, in the last column, must be equal.
"""

import subprocess
import sys

COUNTS = ("| kernel | layout |", "| gqa_decode | layout |")
OF_TRAFFIC = ("must move", "moves", "ratio", "unasked", "bank conflicts")
TOLERANCE = 0.02


def rows_below(text, heading):
    """{"kernel, layout": numbers} of the table that begins with the heading."""
    rows = {}
    is_within = False
    for line in text.splitlines():
        is_within = line.startswith(heading) or (is_within and line.startswith("|"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if is_within and not line.startswith((heading, "|---")):
            rows[", ".join(cells[:2])] = [float(cell) for cell in cells[2:]]
    return rows


def differs(seen, expected):
    if len(seen) != len(expected) or seen[-1] != expected[-1]:
        return True
    limits = [TOLERANCE * max(pair) for pair in zip(seen, expected, strict=True)]
    if len(limits) == len(OF_TRAFFIC):
        limits[OF_TRAFFIC.index("unasked")] = limits[OF_TRAFFIC.index("moves")]
    return any(abs(a - b) > limit for a, b, limit in zip(seen, expected, limits, strict=True))


def wrong_counts(printed, document):
    for heading in COUNTS:
        seen, expected = rows_below(printed, heading), rows_below(document, heading)
        if not seen:
            yield f"expected a printed table of counts, {heading!r}"
        for row in sorted(seen.keys() | expected.keys()):
            if row not in expected:
                yield f"missing: {row}: {seen[row]}"
            elif row not in seen:
                yield f"not printed: {row}"
            elif differs(seen[row], expected[row]):
                yield f"{row}: {expected[row]}, but printed are {seen[row]}"


def main():
    program, path = sys.argv[1:]
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    with open(path, encoding="utf-8") as file:
        document = file.read()
    lines = set(document.splitlines())
    before_counts = printed.partition(COUNTS[0])[0]
    wrong = [f"missing: {line}" for line in before_counts.splitlines() if line not in lines]
    wrong += wrong_counts(printed, document)
    for what in wrong:
        print(f"{path}: {what}")
    if wrong:
        sys.exit(f"{path}: {len(wrong)} lines differ; run //verify/kernels:kernel_traffic_table")


if __name__ == "__main__":
    main()
