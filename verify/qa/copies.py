#!/usr/bin/env python3
"""Writes copies of sources in which every mutant is inactive until a program is given its number.

    copies.py --to FOLDER --list JSON --drawn DRAWN.txt --picked FILE... --sources FILE...
              [--users FILE...]
    copies.py --draw JSON [--kept DRAWN.txt] [--seed SEED] [--of-each-source N]
              [--left-out FILE...]

The first command writes a copy of cuda/kernels/x.cuh as FOLDER/cuda/kernels/x.cuh, and a list of
its mutants. Copies include each other; users are copied and not mutated. Mutants are drawn or
picked. A drawn mutant is named in DRAWN.txt; if its line has changed since, the list has it under
"gone". A picked mutant is a replacement in a source:

    mutant NAME
    : what it is
    source ID, ID of docs/known-bugs.md, or own
    seen by SORT or SORT
    in cuda/kernels/x.cuh
    -text that stands in the source just once
    +text in its place, in which MUTANT is true while the mutant is active

"seen by" names sorts of checks that are expected to kill it first; "found by GROUP" in its place
names a group of tests that has to, and that alone is tried.

The second command prints a new DRAWN.txt for the sources of such a list: of each source and each
operator one mutant, chosen by a seed, and of those at most N of each source. Mutants of an earlier
draw that still exist can be kept; they stand in for those that would be drawn.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import List, NamedTuple, Optional

import operators

AREAS = [
    ("cuda/kernels/.*\\.cuh", "kernels"),
    ("cuda/kernels/.*\\.cu", "launches"),
    ("cuda/.*\\.cu", "host API"),
    ("cuda/cache/(block_hash|node_table|prefix_cache|prefix_index|prompt_reader)\\..*",
     "prefix cache"),
    ("cuda/cache/.*", "block manager"),
    ("sim/.*", "scheduler"),
    ("reference/.*", "reference"),
]
HERE = "verify/qa/"
PICKED = re.compile(
    r"mutant (\S+)\n((?:: .*\n)+)source (.+)\n(seen|found) by (.+)\n((?:in .+\n(?:[-+].*\n)+)+)"
)


class Malformed(Exception):
    pass


def area_of(path):
    return next(area for pattern, area in AREAS if re.fullmatch(pattern, path))


class Picked(NamedTuple):
    """A mutant of a file of picked ones."""

    name: str
    text: str
    source: str
    seen_by: List[str]
    found_by: str
    changes: List[tuple]  # of (path, old lines, new lines)


def read_picked(paths):
    paragraphs = [p for path in paths for p in Path(path).read_text("utf-8").split("\n\n")]
    return [picked_of(paragraph.strip() + "\n") for paragraph in paragraphs]


def picked_of(paragraph):
    lines = PICKED.fullmatch(paragraph)
    if not lines:
        expected = "'mutant', ':', 'source', 'seen by' or 'found by', and 'in' lines"
        raise Malformed(f"expected {expected}, got\n{paragraph}")
    name, text, source, how, by, rest = lines.groups()
    changes = []
    for path, change in re.findall(r"in (.+)\n((?:[-+].*\n)+)", rest):
        sides = [[line[1:] for line in change.splitlines() if line[0] == side] for side in "-+"]
        if "MUTANT" not in "".join(sides[1]):
            raise Malformed(f"{name}: is always active in {path}")
        changes.append((path, *sides))
    seen_by, found_by = (by.split(" or "), "") if how == "seen" else ([], by)
    text = " ".join(line[2:] for line in text.splitlines())
    return Picked(name, text, source, seen_by, found_by, changes)


def read_reasons(path):
    """Names of mutants, one a line, and the reason that follows each."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    parts = [re.split(r":? ", line, maxsplit=1) for line in lines if line and line[0] != "#"]
    return dict(parts)


def number_of(name):
    """A mutant's number: independent of other mutants, and never 0, which stands for none."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16) + 1


def is_active(name):
    return f"RECTO_MUTANT({number_of(name)})"


def alike(old, new):
    """How many items two sequences share at their beginning, and of the rest at their end."""
    first = len(os.path.commonprefix([old, new]))
    return first, len(os.path.commonprefix([old[first:][::-1], new[first:][::-1]]))


def smallest_change(old_lines, new_lines):
    """(begin, end, text): what replaces a part of the old text, so that other mutants can stand in
    the lines around it. Lines that are alike are left out, and then characters."""
    first, last = alike(old_lines, new_lines)
    if first == len(old_lines):
        at = len("\n".join(old_lines))
        return at, at, "".join(f"\n{line}" for line in new_lines[first:])
    begin = sum(len(line) + 1 for line in old_lines[:first])
    new_lines = new_lines[first : len(new_lines) - last]
    if first + last == len(old_lines):
        return begin, begin, "".join(f"{line}\n" for line in new_lines)
    old, new = "\n".join(old_lines[first : len(old_lines) - last]), "\n".join(new_lines)
    first, last = alike(old, new)
    return begin + first, begin + len(old) - last, new[first : len(new) - last]


class Edit(NamedTuple):
    """Between two places of a source: `head`, the original and `tail`; or `head` alone."""

    begin: int
    end: int
    head: str
    tail: Optional[str] = None


class Copy:
    """One source, and the edits that put mutants into it."""

    def __init__(self, path, source=None):
        self.path = path
        self.source = Path(path).read_text(encoding="utf-8") if source is None else source
        self.edits = []
        self.listed = []  # of the list of mutants

    def add_picked(self, mutant):
        for path, old_lines, new_lines in mutant.changes:
            if path != self.path:
                continue
            old = "\n".join(old_lines)
            if self.source.count(old) != 1:
                raise Malformed(f"{mutant.name}: {path} has {self.source.count(old)} times\n{old}")
            place = self.source.index(old)
            begin, end, new = smallest_change(old_lines, new_lines)
            new = new.replace("MUTANT", is_active(mutant.name))
            self.edits.append(Edit(place + begin, place + end, new))
            if all(listed["name"] != mutant.name for listed in self.listed):
                self.list(mutant.name, "picked", place, mutant.text)
                self.listed[-1].update(source=mutant.source)
                self.listed[-1].update(seen_by=mutant.seen_by, found_by=mutant.found_by)

    def add_drawn(self, names):
        for mutant in operators.mutants_of(self.path, self.source):
            if mutant.name in names:
                site = mutant.site
                head, tail = f"({is_active(mutant.name)} ? ({mutant.mutated}) : (", "))"
                if site.kind == "statement":
                    head = f"{{ if ({is_active(mutant.name)}) {{ {mutant.mutated} }} else {{ "
                    tail = " } }"
                self.edits.append(Edit(site.begin, site.end, head, tail))
                was = re.sub(r"\s+", " ", site.text)
                self.list(mutant.name, mutant.operator, site.begin, f"{mutant.change} in `{was}`")

    def list(self, name, operator, begin, text):
        line = self.source.count("\n", 0, begin) + 1
        mutant = {"name": name, "number": number_of(name), "area": area_of(self.path)}
        mutant |= {"operator": operator, "place": f"{self.path}:{line}", "text": text}
        self.listed.append(mutant)

    def written(self, copied):
        """The copy, which includes the copies of the paths `copied`."""
        edits = sorted(self.edits, key=lambda e: (e.begin, e.begin < e.end, -e.end))
        text = self._edited(0, len(self.source), edits)
        text = re.sub(
            r'#include "([^"]+)"',
            lambda m: f'#include "{HERE}copies/{m[1]}"' if m[1] in copied else m[0],
            text,
        )
        first = re.search(r"^#include|(?<=^#pragma once\n)", text, re.MULTILINE).start()
        return f'{text[:first]}#include "{HERE}mutant.h"\n{text[first:]}'

    def _edited(self, begin, end, edits):
        """That part of the source with edits that lie within it, the outer ones first."""
        text = ""
        while edits:
            edit, *edits = edits
            inner = [other for other in edits if other.begin < edit.end]
            if inner and (edit.tail is None or max(other.end for other in inner) > edit.end):
                place = self.source[edit.begin : edit.end]
                raise Malformed(f"{self.path}: mutants overlap in '{place}'")
            text += self.source[begin : edit.begin] + edit.head
            if edit.tail is not None:
                text += self._edited(edit.begin, edit.end, inner) + edit.tail
            begin, edits = edit.end, edits[len(inner) :]
        return text + self.source[begin:end]


def draw(copies, left_out, seed, of_each_source, kept=()):
    """Drawn mutants: for each source and operator those that are kept, or else the first one, in an
    order that depends on the seed; and of these the first `of_each_source` of each source."""

    def place(mutant):
        return mutant.name not in kept, number_of(seed + mutant.name)

    lines = []
    for copy in copies:
        drawn = []
        for mutant in sorted(operators.mutants_of(copy.path, copy.source), key=place):
            is_first = all(other.operator != mutant.operator for other in drawn)
            if mutant.name in kept or (is_first and mutant.name not in left_out):
                drawn.append(mutant)
        for mutant in drawn[:of_each_source]:
            lines.append(f"{mutant.name} {mutant.site.function.name}(): {mutant.change}")
    return lines


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=Path, help="folder of the copies")
    parser.add_argument("--list", type=Path, help="list of mutants, to be written")
    parser.add_argument("--drawn", help="names of drawn mutants, as printed by --draw")
    parser.add_argument("--picked", nargs="*", default=[])
    parser.add_argument("--sources", nargs="*", default=[])
    parser.add_argument("--users", nargs="*", default=[], help="copied, but not mutated")
    parser.add_argument("--draw", help="print mutants of the sources of this list")
    parser.add_argument("--kept", help="names of mutants that are drawn if they still exist")
    parser.add_argument("--seed", default="2026")
    parser.add_argument("--of-each-source", type=int, metavar="N", help="at most N mutants")
    parser.add_argument("--left-out", nargs="*", default=[], help="lists of mutants not to draw")
    return parser.parse_args(arguments)


def write(asked):
    copies = [Copy(path) for path in asked.sources]
    names = read_reasons(asked.drawn).keys()
    picked = read_picked(asked.picked)
    for mutant in picked:
        for path, _, _ in mutant.changes:
            if path not in asked.sources:
                raise Malformed(f"{mutant.name}: {path} is not copied")
    for copy in copies:
        for mutant in picked:
            copy.add_picked(mutant)
        copy.add_drawn(names)
    listed = {mutant["name"]: mutant for copy in copies for mutant in copy.listed}
    if len({mutant["number"] for mutant in listed.values()}) < len(listed):
        raise Malformed("two mutants have the same number")
    for copy in copies + [Copy(path) for path in asked.users]:
        to = asked.to / copy.path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(copy.written(asked.sources), encoding="utf-8")
    found = {"sources": asked.sources, "gone": sorted(names - listed.keys())}
    found["mutants"] = list(listed.values())
    asked.list.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main(arguments):
    asked = parse(arguments)
    try:
        if asked.draw:
            sources = json.loads(Path(asked.draw).read_text(encoding="utf-8"))["sources"]
            left_out = set().union(*map(read_reasons, asked.left_out))
            copies = [Copy(path) for path in sources]
            kept = read_reasons(asked.kept) if asked.kept else ()
            print("\n".join(draw(copies, left_out, asked.seed, asked.of_each_source, kept)))
        else:
            write(asked)
    except Malformed as error:
        print(f"copies.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
