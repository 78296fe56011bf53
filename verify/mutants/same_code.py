#!/usr/bin/env python3
"""Determines which mutants that nothing kills have the same machine code as the original.

    same_code.py --compiler GXX --list MUTANTS.json --names EQUIVALENT.txt OPEN.txt
                 --copies FOLDER --out FILE -- FLAGS...

Writes "same NAME" or "other NAME" for each mutant of the list that equivalent.txt or open.txt
names: what is killed cannot be the same. Compiles each source twice at -O2, the mutant's number a
constant, and compares the object files: for a header, those of all sources that include it,
directly or indirectly, until one differs. Kernels are compiled by the host compiler, as for the
executor.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = ["-std=c++20", "-O2", "-w", "-Wno-narrowing", "-ffp-contract=off", "-c"]
KERNEL_FLAGS = ["-x", "c++", "-DRECTO_SIMT_KERNEL_FILE", "-fno-strict-aliasing"]
# Replaces the function that reads the environment.
FIXED = "#pragma once\n#define RECTO_MUTANT(number) ((number) == RECTO_FIXED)\n"
COPIES = "verify/mutants/copies/"


def names_of(paths):
    """The text before the colon of each line that is not a comment."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [line.partition(": ")[0] for line in lines if line and line[0] != "#"]


def sources_with(path, copies):
    """Copies that are compiled on their own, and are that file or include it directly or
    indirectly."""
    included = {}
    for copy in (file for file in copies.rglob("*") if file.is_file()):
        text = copy.read_text(encoding="utf-8")
        name = str(copy.relative_to(copies))
        included[name] = re.findall(f'#include "{COPIES}([^"]+)"', text)
    users = {path}
    while more := {name for name in included if users & set(included[name])} - users:
        users |= more
    return [copies / user for user in sorted(users) if user.endswith((".cc", ".cu"))]


class Compiler:
    """Makes object files, in a folder of its own."""

    def __init__(self, command, flags, folder):
        self.command, self.folder = command, Path(folder)
        self.flags = FLAGS + ["-iquote", str(folder)] + flags
        self.originals = {}  # code by source
        headers = self.folder / "verify/mutants"
        headers.mkdir(parents=True)
        for name in ("mutant.h", "steps.h"):
            (headers / name).write_text(FIXED, encoding="utf-8")

    def code_of(self, source, number):
        """The object file, without what shows where it came from."""
        target = str(self.folder / "code.o")
        flags = self.flags + (KERNEL_FLAGS if source.suffix == ".cu" else [])
        fixed = f"-DRECTO_FIXED={number}"
        subprocess.run([self.command, *flags, fixed, str(source), "-o", target], check=True)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
        return Path(target).read_bytes()

    def is_same(self, sources, number):
        return bool(sources) and all(self._is_same(source, number) for source in sources)

    def _is_same(self, source, number):
        if source not in self.originals:
            self.originals[source] = self.code_of(source, 0)
        return self.code_of(source, number) == self.originals[source]


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--list", type=Path, required=True, help="of mutants, of copies.py")
    parser.add_argument("--names", type=Path, nargs="+", required=True)
    parser.add_argument("--copies", type=Path, required=True, help="folder, of copies.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("flags", nargs="*")
    return parser.parse_args(arguments)


def main(arguments):
    asked = parse(arguments)
    listed = json.loads(asked.list.read_text(encoding="utf-8"))["mutants"]
    mutants = {mutant["name"]: mutant for mutant in listed}
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(asked.compiler, asked.flags, folder)
        for name in filter(mutants.get, names_of(asked.names)):
            sources = sources_with(mutants[name]["place"].split(":")[0], asked.copies)
            is_same = compiler.is_same(sources, mutants[name]["number"])
            lines.append(f"{'same' if is_same else 'other'} {name}\n")
    asked.out.write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
