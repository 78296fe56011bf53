#!/usr/bin/env python3
"""Compares the resources of kernels, as ptxas reports them, with golden files.

    resources_test.py REPORT... -- GOLDEN...

Reports are made by bazel/ptxas_report.py, one for each card, and are compared with the golden file
of the same nvcc and card. With any nvcc, decode kernels must not spill registers or have a stack.
"""

import difflib
import sys
from pathlib import Path

OF_DECODE = ("decode", "scores", "split_merge")  # parts of their names


def first_line(path):
    return Path(path).read_text("utf-8").splitlines()[0]


def spilling(lines):
    """Yields the lines of decode kernels that spill registers or have a stack."""
    for line in lines[2:]:
        _, stack, stores, loads, _, name = line.split(None, 5)
        if any(word in name for word in OF_DECODE) and (stack, stores, loads) != ("0", "0", "0"):
            yield line


def renewal(heading, report, folder):
    name = heading.removeprefix("# ").replace(",", "").replace(" ", "_")
    return (
        "if this is as it should be:\n"
        f"    ./bazelw build //{report.parent}:{report.stem}\n"
        f"    cp bazel-bin/{report} {folder}/{name}.txt"
    )


def is_as_expected(report, golden_files):
    lines = Path(report).read_text("utf-8").splitlines()
    card, kernels = lines[0][2:], len(lines) - 2
    folder = Path(golden_files[0]).parent
    how_to_renew = renewal(lines[0], Path(report), folder)
    spilt = list(spilling(lines))
    for line in spilt:
        print(f"{card}: decode spills or has a stack:\n{lines[1]}\n{line}")
    golden = [path for path in golden_files if first_line(path) == lines[0]]
    if not golden:
        print(f"SKIPPED: resources: no figures of {card} in {folder}")
        print(how_to_renew)
        return not spilt
    expected = Path(golden[0]).read_text("utf-8").splitlines()
    if lines != expected:
        print("\n".join(difflib.unified_diff(expected, lines, golden[0], "now", lineterm="")))
        print(how_to_renew)
        return False
    print(f"{card}: {kernels} kernels take what they took")
    return not spilt


def main(arguments):
    separator = arguments.index("--")
    reports, golden_files = arguments[:separator], arguments[separator + 1 :]
    return 0 if all([is_as_expected(report, golden_files) for report in reports]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
