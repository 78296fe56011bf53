#!/usr/bin/env python3
"""Measures the block manager against one in Python, on this machine, one after the other.

  ./bazelw build //cuda/cache:cache_benchmark
  ./bazelw python tools/bench_peers/compare.py bazel-bin/cuda/cache/block_manager_benchmark

Shows for each operation: nanoseconds of the manager, of a plain one in C++ and of one in Python,
how many times as long these take, and the floor, the part that no implementation can leave out, or
a reference (r) that is not a floor, as the benchmark says. Operations that need a missing
Python package are skipped with a message.

Exit codes: 0 done, 1 the benchmark failed or lacks an operation, 2 bad usage.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True

from gpu_peers.results import print_table  # noqa: E402
from operations import OPERATIONS, Operation, Skipped  # noqa: E402

HEADINGS = ("ns for each", "ours", "plain C++", "", "Python", "", "floor", "")
EXPLAINED = ("x: times as long as ours, or of the floor, ours times as long as it; "
             "r: no floor but a reference, serial misses or a copy of all")


@dataclass(frozen=True)
class Figures:
    """Nanoseconds per operation, measured by the C++ benchmark."""

    ours: float
    plain: float
    beside: float
    is_floor: bool = True


class Failed(Exception):
    pass


def run_benchmark(program: str, operations: list[Operation],
                  flags: list[str]) -> dict[str, Figures]:
    """The figures by the benchmark's name and its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        names = "|".join(f"{re.escape(operation.name)}/" for operation in operations)
        command = [program, f"--benchmark_filter=^({names})", f"--benchmark_out={out}",
                   "--benchmark_out_format=json", *flags]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise Failed(f"{program}: {error.strerror}") from error
        if done.returncode != 0:
            raise Failed(f"{program} failed:\n{done.stdout}{done.stderr}")
        if not out.exists():
            raise Failed(f"{program} wrote no figures; expected a benchmark")
        runs = json.loads(out.read_text())["benchmarks"]
    # The rest of the name describes the run: name/argument/iterations:5/manual_time.
    return {"/".join(run["name"].split("/")[:2]):
            Figures(run["ns"], run["plain_ns"], run.get("floor_ns", run.get("reference_ns")),
                    "floor_ns" in run) for run in runs}


def row_of(operation: Operation, figures: Figures, times: int) -> tuple[tuple[str, ...], str]:
    """A line of the table, and why it has no figure for Python."""
    skipped, python = "", ("-", "")
    try:
        ns = operation.measure(times)
        python = (number(ns), ratio(ns / figures.ours))
    except Skipped as why:
        skipped = f"SKIPPED: {operation.name} in Python: {why}"
    return (f"{operation.unit}: {operation.name}", number(figures.ours), number(figures.plain),
            ratio(figures.plain / figures.ours), *python,
            number(figures.beside) + ("" if figures.is_floor else " r"),
            ratio(figures.ours / figures.beside)), skipped


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def ratio(value: float) -> str:
    return f"{value:.1f} x"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the benchmark, //cuda/cache:cache_benchmark")
    parser.add_argument("--times", type=int, default=50,
                        help="how often Python does each operation (default: %(default)s)")
    parser.add_argument("--largest", type=int, default=10_000_000,
                        help="leave out operations of more blocks, sequences or tokens")
    options, flags = parser.parse_known_args(arguments)
    if options.times < 1:
        parser.error("--times: expected 1 or more")
    if unknown := [flag for flag in flags if not flag.startswith("--benchmark_")]:
        parser.error(f"unknown: {' '.join(unknown)}; flags of the benchmark begin with "
                     "--benchmark_")
    operations = [operation for operation in OPERATIONS if operation.size <= options.largest]
    try:
        measured = run_benchmark(options.program, operations, flags)
    except Failed as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    rows = []
    for operation in operations:
        if operation.name not in measured:
            print(f"compare: {options.program} has no {operation.name}", file=sys.stderr)
            return 1
        row, skipped = row_of(operation, measured[operation.name], options.times)
        rows.append(row)
        if skipped:
            print(skipped)
    print_table((*HEADINGS, ""), [(*row, "") for row in rows])
    print(EXPLAINED)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
