#!/usr/bin/env python3
"""Prints drawn.txt: one mutant of each operator for every source of kernels and launch code."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import copies

ROOT = Path(__file__).resolve().parents[2]
HERE = "verify/mutants"


def sources():
    """Those of BUILD."""
    found = []
    for folder in ("cuda/kernels", "cuda"):
        text = (ROOT / folder / "sources.bzl").read_text(encoding="utf-8")
        found += [f"{folder}/{name}" for name in re.findall(r'"([\w.]+\.cuh?)"', text)]
    return found


def main():
    os.chdir(ROOT)
    picked = [str(path) for path in sorted(Path(HERE, "picked").glob("*.txt"))]
    arguments = ["--draw", "1", "--left-out", f"{HERE}/not_drawn.txt", "--picked", *picked]
    drawn = io.StringIO()
    with contextlib.redirect_stdout(drawn):
        result = copies.main([*arguments, "--sources", *sources()])
    print("# Printed by draw.py; none of them is picked by hand.\n" + drawn.getvalue(), end="")
    return result


if __name__ == "__main__":
    sys.exit(main())
