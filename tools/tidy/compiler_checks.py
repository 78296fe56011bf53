#!/usr/bin/env python3
"""Runs a compiler's tools over our C++, without Bazel:

    compiler_checks.py format     clang-format 14 on every file
    compiler_checks.py names      clang-tidy's rules of names and sizes; takes many minutes
    compiler_checks.py headers    each header compiles alone and twice over; takes minutes

A tool that is not installed, or whose version formats differently, is skipped with a line that says
so.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tree import CPP, Tree

ROOT = Path(__file__).resolve().parents[2]
FORMAT_VERSION = 14  # other versions break lines elsewhere
RULES = "readability-identifier-naming,readability-function-size"
# For kernels and CUDA programs there is the executor in place of the CUDA Toolkit.
_EXECUTOR = ("-Iverify/simt/dialect", "-Iverify/library/cuda_runtime")
FLAGS = ["-std=c++20", "-iquote", ".", "-isystem", "/usr/include/eigen3", *_EXECUTOR]
# These include headers of the toolkit or of others' packages, or headers that the build generates.
_NOT_ALONE = ("cuda/kernels/dialect/", "verify/library/cuda_source/framework_",
              "tools/third_party/")


def said_by(command, root=ROOT, given=None):
    """Exit code and output."""
    done = subprocess.run(command, cwd=root, input=given, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def for_each(function, files):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, files))


def skip(reason):
    print(f"SKIPPED: {reason}")
    return []


def check_format(sources):
    found = shutil.which("clang-format") and said_by(["clang-format", "--version"])[1]
    if f"version {FORMAT_VERSION}." not in (found or ""):
        return skip(f"clang-format: version {FORMAT_VERSION} wanted, found {found or 'none'}")
    said = said_by(["clang-format", "--dry-run", *sources])[1]
    places = re.findall(r"^(\S+?:\d+):\d+: warning: .*", said, re.M)
    return [f"{place}: not formatted" for place in places]


def check_names(sources):
    if shutil.which("clang-tidy") is None:
        return skip("clang-tidy: not installed")
    units = [path for path in sources if path.endswith(".cc")]
    tidy = ["clang-tidy", "--quiet", f"--checks=-*,{RULES}"]
    said = for_each(lambda unit: said_by([*tidy, unit, "--", *FLAGS])[1], units)
    # What cannot be compiled is misread, too: a header that only the build generates, or a library
    # that is not installed.
    read = [each for each in said if ": error: " not in each or "[clang-diagnostic" not in each]
    if unread := len(units) - len(read):
        skip(f"clang-tidy: {unread} of {len(units)} files that cannot be compiled outside Bazel")
    complaint = re.compile(r"^(\S+?):(\d+):\d+: \w+: (.*) \[readability-", re.M)
    found = {match for each in read for match in complaint.findall(each)}
    return [f"{os.path.relpath(path, ROOT)}:{line}: {text}" for path, line, text in sorted(found)]


def check_headers(sources):
    if shutil.which("g++") is None:
        return skip("header check: g++ is not installed")
    headers = [path for path in sources if path.endswith(".h") and not path.startswith(_NOT_ALONE)]
    return list(filter(None, for_each(error_of_header, headers)))


def error_of_header(header, root=ROOT):
    """The first error; nothing if it compiles."""
    twice = f'#include "{header}"\n' * 2
    code, said = said_by(["g++", "-fsyntax-only", *FLAGS, "-x", "c++", "-"], root, twice)
    errors = [line for line in said.splitlines() if "error:" in line]
    return (errors or ["g++ failed"])[0] if code else None


CHECKS = {"format": check_format, "names": check_names, "headers": check_headers}


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(__doc__)
        return 2
    sources = [file.path for file in Tree.of_folder(ROOT).of(*CPP)]
    found = CHECKS[arguments[0]](sources)
    print("\n".join([*found, f"{arguments[0]}: {len(sources)} files, {len(found)} violations"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
