"""Compiles each header alone and twice over: it needs nothing before it, and counts once.

Takes minutes, so it is run under --config=full.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tree import Tree

ROOT = Path(__file__).resolve().parents[2]
# For kernels and CUDA programs there is the executor in place of the CUDA Toolkit.
_EXECUTOR = ("-Iverify/simt/dialect", "-Iverify/cuda_runtime")
INCLUDES = ["-iquote", ".", "-isystem", "/usr/include/eigen3", *_EXECUTOR]
# They include headers of the toolkit, or that the build makes in their place.
_SKIPPED = ("cuda/kernels/dialect/", "verify/cuda_source/framework_", "verify/simt/foreign/simt_f")


def error_of(header, root=ROOT):
    """The first error; nothing if it compiles."""
    command = ["g++", "-std=c++20", "-fsyntax-only", *INCLUDES, "-x", "c++", "-"]
    twice = f'#include "{header}"\n' * 2
    done = subprocess.run(command, cwd=root, input=twice, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return (errors or ["g++ failed"])[0] if done.returncode else None


def main():
    if shutil.which("g++") is None:
        print("SKIPPED: header check: g++ is not installed")
        return 0
    paths = [file.path for file in Tree.of_folder(ROOT).of("c++") if file.suffix == ".h"]
    headers = [path for path in paths if not path.startswith(_SKIPPED)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(filter(None, pool.map(error_of, headers)))
    print("\n".join([*errors, f"{len(headers)} headers, {len(errors)} do not compile alone"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
