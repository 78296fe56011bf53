#!/usr/bin/env python3
"""Writes copies of sources in which every mutant sleeps until a program is told its number.

    copies.py --draw N [--seed SEED] [--of-each-source M] --left-out FILE... --picked FILE...
              --sources FILE... > DRAWN
    copies.py --drawn DRAWN --picked FILE... --to FOLDER --list JSON --sources FILE... [--users ...]

A copy of cuda/kernels/x.cuh is FOLDER/cuda/kernels/x.cuh; copies include each other. Of each source
and each operator N mutants are drawn, by a fixed seed. One whose line has changed since is gone,
and listed so. A picked mutant is an exact replacement:

    mutant NAME
    : what it is
    source ID, ID of docs/known-bugs.md, or own
    seen by SORT or SORT of checks, as campaigns tell what killed it
    in cuda/kernels/x.cuh
    -text as it stands in the source just once
    +text in its place, in which MUTANT is true while it is awake
"""

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

import operators

SEED = "2026"
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
INCLUDE = '#include "verify/mutants/%s"\n'


class Malformed(Exception):
    pass


def area_of(path):
    return next(area for pattern, area in AREAS if re.fullmatch(pattern, path))


class Picked:
    """A mutant of a file of picked ones."""

    def __init__(self, name):
        self.name, self.text, self.source = name, "", ""
        self.seen_by = []  # sorts of checks, each of which ought to see it
        self.changes = []  # of (path, old lines, new lines)


def read_picked(paths):
    found = []
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line:
                read_line(line, found)
    for mutant in found:
        if not mutant.changes or not mutant.text or not mutant.source or not mutant.seen_by:
            raise Malformed(f"{mutant.name}: expected ':', 'source', 'seen by' and 'in' lines")
    return found


def read_line(line, found):
    word, _, rest = line.partition(" ")
    if word == "mutant":
        found.append(Picked(rest.strip()))
    elif not found:
        raise Malformed(f"'{line}' belongs to no mutant")
    elif word == ":":
        found[-1].text = f"{found[-1].text} {rest.strip()}".strip()
    elif word == "source":
        found[-1].source = rest.strip()
    elif line.startswith("seen by "):
        found[-1].seen_by = line[8:].strip().split(" or ")
    elif word == "in":
        found[-1].changes.append((rest.strip(), [], []))
    elif line[0] in "-+" and found[-1].changes:
        found[-1].changes[-1][1 if line[0] == "-" else 2].append(line[1:])
    else:
        raise Malformed(f"{found[-1].name}: what is '{line}'?")


def number_of(name):
    """A mutant's number: independent of what other mutants there are, and not 0, which stands for
    none."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16) + 1


def awake(name):
    return f"RECTO_MUTANT({number_of(name)})"


class Copy:
    """One source, and the replacements of parts of it."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        self.edits = []  # (begin, end, new text)
        self.listed = []  # of MUTANTS.json

    def add_picked(self, mutant):
        for path, old_lines, new_lines in mutant.changes:
            if path != self.path:
                continue
            old, new = "\n".join(old_lines), "\n".join(new_lines)
            if self.source.count(old) != 1:
                raise Malformed(f"{mutant.name}: {path} has {self.source.count(old)} times\n{old}")
            if "MUTANT" not in new:
                raise Malformed(f"{mutant.name}: is awake always")
            begin = self.source.index(old)
            if not self.is_free(begin, begin + len(old)):
                raise Malformed(f"{mutant.name}: another mutant stands there")
            self.edits.append((begin, begin + len(old), new.replace("MUTANT", awake(mutant.name))))
            self.list(mutant.name, "picked", begin, mutant.text)
            self.listed[-1].update(source=mutant.source, seen_by=mutant.seen_by)

    def list(self, name, operator, begin, text):
        line = self.source.count("\n", 0, begin) + 1
        self.listed.append(
            {
                "name": name,
                "number": number_of(name),
                "area": area_of(self.path),
                "operator": operator,
                "place": f"{self.path}:{line}",
                "text": text,
            }
        )

    def is_free(self, begin, end):
        return all(end <= other or behind <= begin for other, behind, _ in self.edits)

    def candidates(self):
        """What operators make of places that no picked mutant uses."""
        return [
            mutant
            for mutant in operators.mutants_of(self.path, self.source)
            if self.is_free(mutant.site.begin, mutant.site.end)
        ]

    def add_drawn(self, names):
        at_sites = {}
        for mutant in self.candidates():
            if mutant.name in names:
                at_sites.setdefault(mutant.site.begin, []).append(mutant)
        for mutants in at_sites.values():
            site = mutants[0].site
            text = self.source[site.begin : site.end]
            self.edits.append((site.begin, site.end, both_forms(site, text, mutants)))
            for mutant in mutants:
                was = re.sub(r"\s+", " ", text)
                self.list(mutant.name, mutant.operator, site.begin, f"{mutant.change} in `{was}`")

    def written(self, copied, header="mutant.h"):
        text = self.source
        for begin, end, new in sorted(self.edits, reverse=True):
            text = text[:begin] + new + text[end:]
        text = re.sub(
            r'#include "([^"]+)"',
            lambda m: f'#include "verify/mutants/copies/{m[1]}"' if m[1] in copied else m[0],
            text,
        )
        first = re.search(r"^#include|(?<=^#pragma once\n)", text, re.MULTILINE)
        return text[: first.start()] + INCLUDE % header + text[first.start() :]


def both_forms(site, text, mutants):
    if site.kind == "statement":
        parts = [f"if ({awake(m.name)}) {{ {m.mutated} }} else" for m in mutants]
        return "{ " + " ".join(parts) + f" {{ {text} }} }}"
    parts = [f"{awake(m.name)} ? ({m.mutated}) :" for m in mutants]
    return "(" + " ".join(parts) + f" ({text}))"


def read_names(path):
    """The first word of each line that is not a comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def copies_of(paths, picked):
    """With the picked mutants."""
    copies = [Copy(path, Path(path).read_text(encoding="utf-8")) for path in paths]
    for mutant in picked:
        for path, _, _ in mutant.changes:
            if path not in paths:
                raise Malformed(f"{mutant.name}: {path} is not copied")
        for copy in copies:
            copy.add_picked(mutant)
    return copies


def draw(copies, each, left_out, seed=SEED, of_each_source=None):
    """The first mutants of each source and operator, in an order that depends on the seed; and of
    these, a limited number for each source, if so asked."""
    lines = []

    def place(mutant):
        return number_of(seed + mutant.name)

    for copy in copies:
        by_operator = {}
        for mutant in copy.candidates():
            if mutant.name not in left_out:
                by_operator.setdefault(mutant.operator, []).append(mutant)
        groups = [sorted(mutants, key=place) for mutants in by_operator.values()]
        drawn = [mutant for group in groups for mutant in group[:each]]
        if of_each_source:
            drawn = sorted(drawn, key=place)[:of_each_source]
        lines += [f"{m.name} {m.site.function.name}(): {m.change}" for m in drawn]
    return lines


def check_numbers(listed):
    numbers = {}
    for mutant in listed:
        if numbers.setdefault(mutant["number"], mutant["name"]) != mutant["name"]:
            raise Malformed(f"{mutant['name']} has another one's number")


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=Path, help="folder of the copies")
    parser.add_argument("--list", type=Path, help="of mutants, to be written")
    parser.add_argument("--draw", type=int, help="print so many of each operator, and no more")
    parser.add_argument("--drawn", type=Path, help="what was printed then")
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--of-each-source", type=int, help="of what that gives, so many")
    parser.add_argument("--left-out", type=Path, nargs="*", default=[], help="of the draw")
    parser.add_argument("--plain", action="store_true", help="no kernels: passes are counted")
    parser.add_argument("--picked", nargs="*", default=[])
    parser.add_argument("--users", nargs="*", default=[], help="copied, and not mutated")
    parser.add_argument("--sources", nargs="*", default=[])
    return parser.parse_args(arguments)


def write(asked, copies):
    names = read_names(asked.drawn)
    for copy in copies:
        copy.add_drawn(names)
    listed = [mutant for copy in copies for mutant in copy.listed]
    check_numbers(listed)
    gone = sorted(names - {mutant["name"] for mutant in listed})
    copies += [Copy(path, Path(path).read_text(encoding="utf-8")) for path in asked.users]
    for copy in copies:
        to = asked.to / copy.path
        to.parent.mkdir(parents=True, exist_ok=True)
        text = copy.written(asked.sources, "steps.h" if asked.plain else "mutant.h")
        to.write_text(text, encoding="utf-8")
    text = json.dumps({"mutants": listed, "gone": gone}, indent=1)
    asked.list.write_text(text + "\n", encoding="utf-8")


def main(arguments):
    asked = parse(arguments)
    try:
        copies = copies_of(asked.sources, read_picked(asked.picked))
        if asked.draw:
            left_out = set().union(*map(read_names, asked.left_out))
            drawn = draw(copies, asked.draw, left_out, asked.seed, asked.of_each_source)
            print("\n".join(drawn))
        else:
            write(asked, copies)
    except Malformed as error:
        print(f"copies.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
