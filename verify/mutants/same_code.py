#!/usr/bin/env python3
"""Which mutants are the same machine code as the original.

    same_code.py [NAME...]      of equivalent.txt and open.txt, or those that are named

Compiles each source twice by g++ -O2, with a number fixed at compile time, and compares the object
files: of a header, all sources that include it, straight or by way of others. Kernels are what the
host compiler makes of them for the executor. Run it where the copies have been built:

    ./bazelw build //verify/mutants:trials //verify/mutants:cache_trials \\
        //verify/mutants:simulator_trials //verify/mutants:reference_trials
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "bazel-bin"
LISTS = ["mutants.json", "cache_mutants", "simulator_mutants", "reference_mutants"]
FLAGS = ["-std=c++20", "-O2", "-w", "-Wno-narrowing", "-ffp-contract=off", "-c"]
KERNEL_FLAGS = ["-x", "c++", "-DRECTO_SIMT_KERNEL_FILE", "-fno-strict-aliasing"]
KERNEL_FLAGS += ["-isystem", "verify/simt/dialect", "-isystem", "verify/simt/dialect/refused"]
# Takes the place of what looks at the environment.
FIXED = "#pragma once\n#define RECTO_MUTANT(number) ((number) == RECTO_FIXED)\n"


def listed():
    """All mutants, by name."""
    found = {}
    for file in LISTS:
        text = (BUILT / "verify/mutants" / file).read_text(encoding="utf-8")
        found |= {mutant["name"]: mutant for mutant in json.loads(text)["mutants"]}
    return found


def names_of_lists():
    names = []
    for file in ("equivalent.txt", "open.txt"):
        lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
        names += [line.partition(": ")[0] for line in lines if line and line[0] != "#"]
    return names


def includes_of(file):
    """Copies that a copy includes."""
    text = file.read_text(encoding="utf-8")
    return re.findall('#include "(verify/mutants/copies/[^"]+)"', text)


def users_of(header):
    """All copies that include it, straight or by way of others."""
    users = {header}
    copies = [path for path in (BUILT / "verify/mutants/copies").rglob("*") if path.is_file()]
    included = {str(path.relative_to(BUILT)): includes_of(path) for path in copies}
    while more := {path for path in included if users & set(included[path])} - users:
        users |= more
    return users


def sources_with(path):
    """Copies that are compiled by themselves."""
    users = users_of(f"verify/mutants/copies/{path}")
    return [BUILT / user for user in sorted(users) if user.endswith((".cc", ".cu"))]


def code_of(source, number, folder):
    """The object file, without what tells where it came from."""
    target = Path(folder) / "code.o"
    includes = ["-iquote", folder, "-iquote", str(ROOT), "-iquote", str(BUILT)]
    includes += ["-isystem", "/usr/include/eigen3"]
    flags = FLAGS + (KERNEL_FLAGS if source.suffix == ".cu" else [])
    command = ["g++", *flags, f"-DRECTO_FIXED={number}", *includes, str(source), "-o", str(target)]
    subprocess.run(command, check=True, cwd=ROOT)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    return target.read_bytes()


def write_headers(folder):
    """In the place of what looks at the environment."""
    (Path(folder) / "verify/mutants").mkdir(parents=True)
    for header in ("mutant.h", "steps.h"):
        (Path(folder) / "verify/mutants" / header).write_text(FIXED, encoding="utf-8")


def is_same(sources, number, folder):
    return bool(sources) and all(
        code_of(source, number, folder) == code_of(source, 0, folder) for source in sources
    )


def main(arguments):
    mutants = listed()
    names = arguments or [name for name in names_of_lists() if name in mutants]
    with tempfile.TemporaryDirectory() as folder:
        write_headers(folder)
        for name in names:
            sources = sources_with(mutants[name]["place"].split(":")[0])
            same = is_same(sources, mutants[name]["number"], folder)
            print(f"{'the same code' if same else 'other code':13}  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
