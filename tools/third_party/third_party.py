#!/usr/bin/env python3
"""Judges the kernels of FlashInfer, FlashAttention-2 and vLLM on a CPU, by every law.

  third_party.py --list                      the subjects
  third_party.py SUBJECT [FLAG...]           recto verify on one; flags are passed to it
  third_party.py faults [SUBJECT]            plants faults, each of which recto must find

Fetches the pinned package with pip, and runs `recto verify` with the adapter of this folder. That
compiles both with nvcc, which needs no GPU.

Exit codes: those of recto verify; of faults, 0 all found, 1 not all; 2 bad usage, or something is
missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(ROOT / "verify/library/cuda_source")]

from faults import edited, finding_in, plant  # noqa: E402
from packages import Refusal, fetch  # noqa: E402
from subjects import FAULTS, SUBJECTS  # noqa: E402

import build_cuda_library  # noqa: E402

FAULT_FLAGS = ("--define", "FEWER_KERNELS", "--law", "oracle", "--cases", "6", "--fail-fast",
               "--kinds", "small")


def command_of(subject, recto, folders, flags):
    """recto verify on the subject, whose headers are in these folders."""
    command = [recto, "verify", "--adapter", str(HERE / subject.adapter)]
    for folder in [*folders, HERE]:
        command += ["--include", str(folder)]
    for macro in subject.macros:
        command += ["--define", macro]
    for option in subject.nvcc_options:
        command += ["--nvcc-option", option]
    return command + [*subject.filters, *flags]


def find_recto(asked):
    recto = Path(asked or ROOT / "bazel-bin/experiments/recto")
    if not os.access(recto, os.X_OK) or recto.is_dir():
        raise Refusal(f"{recto}: expected the program recto: build //experiments:recto, or --recto")
    return str(recto)


def folders_of(subject, cache):
    package = fetch(subject.package, cache)
    folders = [package / name for name in subject.include_folders]
    for folder in folders:
        if not folder.is_dir():
            raise Refusal(f"{folder}: expected a folder of {subject.package.folder}; "
                          f"remove {package} to fetch it again")
    return folders


def verify(subject, recto, cache, flags):
    folder, *others = folders_of(subject, cache)
    folder = edited(subject, folder, cache / "edited" / subject.name)
    command = command_of(subject, recto, [folder, *others], flags)
    print("$ " + " ".join(command), flush=True)
    return subprocess.run(command, check=False).returncode


def find_faults(faults, recto, cache, flags):
    """1 if recto misses one of the faults, else 0."""
    missed = 0
    for fault in faults:
        subject = SUBJECTS[fault.subject]
        folder, *others = folders_of(subject, cache)
        with tempfile.TemporaryDirectory(prefix="recto-fault-") as work:
            copy = Path(work) / "include"
            line = plant(fault, folder, copy)
            command = command_of(subject, recto, [copy, *others],
                                 [*FAULT_FLAGS, "--out", f"{work}/failing-cases", *flags])
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  check=False)
        found = finding_in(fault, line, done.stdout + done.stderr)
        print(f"{fault.name}: expected: {fault.check} at {fault.file}:{line}")
        print(f"  {'found: ' + found if found else 'missed'}", flush=True)
        if not found:
            missed += 1
            sys.stderr.write(done.stdout + done.stderr)
    return 1 if missed else 0


def read_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=(
        "Further flags are passed to recto verify: --cases 40 --law oracle."))
    parser.add_argument("subject", nargs="?", help="one of --list, or faults")
    parser.add_argument("of", nargs="?", help="faults: of this subject alone")
    parser.add_argument("--list", action="store_true", help="the subjects")
    parser.add_argument("--recto", metavar="PROGRAM", help="[bazel-bin/experiments/recto]")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("third-party"),
                        help="where packages are kept [third-party]")
    return parser, *parser.parse_known_args(arguments)


def run(parser, known, flags):
    if known.list:
        for subject in SUBJECTS.values():
            print(f"{subject.name:33} {subject.package.name} {subject.package.version}")
        return 0
    is_faults = known.subject == "faults"
    chosen = known.of if is_faults else known.subject
    if chosen not in SUBJECTS and not (is_faults and chosen is None):
        parser.error(f"found {chosen or 'no subject'}; expected {', '.join(SUBJECTS)}, or faults")
    if known.of and not is_faults:
        parser.error(f"found {known.of}; expected one subject")
    recto = find_recto(known.recto)
    try:
        build_cuda_library.find_nvcc()
    except build_cuda_library.Refusal as refusal:
        raise Refusal(str(refusal)) from refusal
    if not is_faults:
        return verify(SUBJECTS[chosen], recto, known.cache, flags)
    faults = [fault for fault in FAULTS if chosen in (None, fault.subject)]
    if not faults:
        raise Refusal(f"{chosen}: there are no faults for it; expected flashinfer-decode")
    return find_faults(faults, recto, known.cache, flags)


def main(arguments):
    try:
        return run(*read_arguments(arguments))
    except Refusal as refusal:
        print(f"third_party: {refusal}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
