#!/usr/bin/env python3
"""Writes the golden cases of attention over a paged cache: one JSON file per case, with every byte
of its inputs and its results to thirty digits; and those of the operations on K and V before
attention, one file per operation.

  make_golden.py FOLDER           write the files, remove those of deleted cases
  make_golden.py --check FOLDER   compare what is there with what would be written

It needs Python 3.10 or later and nothing else, and writes the same bytes on every machine.

Exit codes: 0 done or equal, 1 something differs, 2 bad usage.
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Iterator

sys.dont_write_bytecode = True  # it may run inside a test, which must leave nothing behind

from case import Case  # noqa: E402
from cases_decode import DECODE_CASES  # noqa: E402
from cases_magnitudes import MAGNITUDE_CASES  # noqa: E402
from cases_options import OPTION_CASES  # noqa: E402
from cases_pools import POOL_CASES  # noqa: E402
from cases_shapes import SHAPE_CASES  # noqa: E402
from drawn_case import draw, expected  # noqa: E402
from json_text import json_text  # noqa: E402
from operation_cases import OPERATIONS  # noqa: E402
from placed_case import place  # noqa: E402

# Increased with every change of the files' content or format.
GENERATOR = "tools/golden_cases/make_golden.py, version 1"

CASES: tuple[Case, ...] = (
    *OPTION_CASES, *MAGNITUDE_CASES, *SHAPE_CASES, *POOL_CASES, *DECODE_CASES
)


def case_document(case: Case) -> dict[str, Any]:
    drawn = draw(case)
    return {
        "generator": GENERATOR,
        "name": case.name,
        "why": case.why,
        "operation": "decode_step" if case.is_decode_step else "paged_attention",
        "options": asdict(case.options),
        **_lengths(case),
        **place(case, drawn),
        "expected": expected(case, drawn),
    }


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """By their paths within the folder."""
    for case in CASES:
        yield f"{case.name}.json", case_document(case)
    for name, (why, make) in OPERATIONS.items():
        yield (f"operations/{name}.json",
               {"generator": GENERATOR, "name": name, "why": why, **make()})


def _lengths(case: Case) -> dict[str, list[int]]:
    contexts = [context for _, context in case.lengths]
    if case.is_decode_step:
        return {"cached_length": contexts}
    query_start = [0]
    for rows, _ in case.lengths:
        query_start.append(query_start[-1] + rows)
    return {"query_start": query_start, "context_length": contexts}


def differences(folder: Path) -> Iterator[str]:
    texts = {path: json_text(document) for path, document in documents()}
    there = {path.relative_to(folder).as_posix() for path in folder.glob("**/*.json")}
    yield from (f"{path}: no such case" for path in sorted(there - texts.keys()))
    for path, text in texts.items():
        if path not in there:
            yield f"{path}: missing"
        elif (folder / path).read_text(encoding="utf-8") != text:
            yield f"{path}: is not what {GENERATOR} writes"


def write(folder: Path) -> None:
    for path in folder.glob("**/*.json"):
        path.unlink()
    for name, document in documents():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json_text(document), encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes the golden cases.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: not a folder")
    if not options.check:
        write(options.folder)
        return 0
    found = list(differences(options.folder))
    for difference in found:
        print(f"{options.folder}/{difference}")
    print(f"{len(CASES)} cases, {len(OPERATIONS)} operations, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
