#!/usr/bin/env python3
"""Prints drawn/PROGRAM.txt: one mutant of each operator for every source of a program.

    draw.py kernels|cache|simulator|reference

With a seed, held_out/PROGRAM.txt: two mutants of each source that are not in drawn/PROGRAM.txt.

    draw.py kernels|cache|simulator|reference SEED
"""

import contextlib
import io
import os
import runpy
import sys
from pathlib import Path

import copies

ROOT = Path(__file__).resolve().parents[2]
HERE = "verify/mutants"


def sources(program):
    """The sources listed in sources.bzl, which is valid Python, too."""
    if program != "kernels":
        return runpy.run_path(f"{HERE}/sources.bzl")[program.upper()]
    found = []
    for folder in ("cuda/kernels", "cuda"):
        lists = runpy.run_path(f"{folder}/sources.bzl")
        names = lists["SOURCES"] + [name for name in lists.get("HEADERS", []) if ".cuh" in name]
        found += [f"{folder}/{name}" for name in names]
    return found


def main(program, seed=None):
    os.chdir(ROOT)
    picked = [str(path) for path in sorted(Path(HERE, "picked", program).glob("*.txt"))]
    arguments = ["--draw", "1", "--picked", *picked, "--left-out", f"{HERE}/not_drawn.txt"]
    if seed:
        arguments += [f"{HERE}/drawn/{program}.txt", "--seed", seed, "--of-each-source", "2"]
    drawn = io.StringIO()
    with contextlib.redirect_stdout(drawn):
        result = copies.main([*arguments, "--sources", *sources(program)])
    command = f"draw.py {program} {seed}" if seed else "draw.py"
    print(f"# Printed by {command}; none of them is picked by hand.\n{drawn.getvalue()}", end="")
    return result


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
