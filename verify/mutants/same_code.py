#!/usr/bin/env python3
"""Which mutants of plain C++ are the same machine code as the original.

    same_code.py [NAME...]      of equivalent.txt and open.txt, or those that are named

Compiles each source twice by g++ -O2, with a number fixed at compile time, and compares the object
files. Run it where the copies have been built:

    ./bazelw build //verify/mutants:cache_trials //verify/mutants:simulator_trials \\
        //verify/mutants:reference_trials
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "bazel-bin"
PROGRAMS = ["cache", "simulator", "reference"]
FLAGS = ["-std=c++20", "-O2", "-w", "-Wno-narrowing", "-ffp-contract=off", "-c"]
# Takes the place of what looks at the environment.
FIXED = "#pragma once\n#define RECTO_MUTANT(number) ((number) == RECTO_FIXED)\n"


def listed():
    """All mutants of plain C++, by name."""
    found = {}
    for program in PROGRAMS:
        text = (BUILT / f"verify/mutants/{program}_mutants").read_text(encoding="utf-8")
        found |= {mutant["name"]: mutant for mutant in json.loads(text)["mutants"]}
    return found


def names_of_lists():
    names = []
    for file in ("equivalent.txt", "open.txt"):
        lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
        names += [line.partition(": ")[0] for line in lines if line and line[0] != "#"]
    return names


def sources_with(path):
    """Copies that are compiled by themselves; of a header, those that include it."""
    copy = f"verify/mutants/copies/{path}"
    if path.endswith(".cc"):
        return [BUILT / copy]
    files = sorted((BUILT / copy).parent.glob("*.cc"))
    return [file for file in files if f'"{copy}"' in file.read_text(encoding="utf-8")]


def code_of(source, number, folder):
    """The object file, without what tells where it came from."""
    target = Path(folder) / "code.o"
    includes = ["-iquote", folder, "-iquote", str(ROOT), "-iquote", str(BUILT)]
    includes += ["-isystem", "/usr/include/eigen3"]
    command = ["g++", *FLAGS, f"-DRECTO_FIXED={number}", *includes, str(source), "-o", str(target)]
    subprocess.run(command, check=True, cwd=ROOT)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    return target.read_bytes()


def is_same(mutant, folder):
    sources = sources_with(mutant["place"].split(":")[0])
    return bool(sources) and all(
        code_of(source, mutant["number"], folder) == code_of(source, 0, folder)
        for source in sources
    )


def main(arguments):
    mutants = listed()
    names = arguments or [name for name in names_of_lists() if name in mutants]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "verify/mutants").mkdir(parents=True)
        for header in ("mutant.h", "steps.h"):
            (Path(folder) / "verify/mutants" / header).write_text(FIXED, encoding="utf-8")
        for name in names:
            same = is_same(mutants[name], folder)
            print(f"{'the same code' if same else 'other code':13}  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
