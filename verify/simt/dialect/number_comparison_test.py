#!/usr/bin/env python3
"""Compares the executor's 16- and 8-bit numbers with NVIDIA's headers, which compile for the host.

Skipped, with the reason, where the CUDA Toolkit's headers or a compiler are missing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path("verify/simt/dialect/testdata")
HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h")


def skip(reason):
    print(f"SKIPPED: number_comparison_test: {reason}")
    sys.exit(0)


def cuda_folder():
    candidates = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [Path(candidate) / "include" for candidate in candidates if candidate]
    for folder in folders + [Path("/usr/include")]:
        if all((folder / header).exists() for header in HEADERS):
            return folder
    return None


def compiler():
    names = [os.environ.get("CXX"), "g++", "clang++", "c++"]
    return next((name for name in names if name and shutil.which(name)), None)


def main():
    cuda = cuda_folder()
    if cuda is None:
        skip(f"no folder with {', '.join(HEADERS)}; set CUDA_HOME")
    cxx = compiler()
    if cxx is None:
        skip("no C++ compiler")
    command = [cxx, "-std=c++20", "-O1", "-ffp-contract=off", "-I.", "-c"]
    functions = str(FOLDER / "number_functions.cc")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, main_object, program = (
            str(Path(folder) / name) for name in ("ours.o", "theirs.o", "main.o", "program")
        )
        steps = [
            [*command, functions, "-o", ours],
            [*command, "-isystem", str(cuda), "-DRECTO_NVIDIA_NUMBERS", functions, "-o", theirs],
            [*command, str(FOLDER / "number_comparison.cc"), "-o", main_object],
            [cxx, main_object, ours, theirs, "-o", program],
            [program],
        ]
        for step in steps:
            result = subprocess.run(step, check=False)
            if result.returncode != 0:
                sys.exit(f"failed: {' '.join(step)}")


if __name__ == "__main__":
    main()
