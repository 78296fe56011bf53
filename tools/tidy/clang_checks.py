"""Runs the clang tools over our C++: clang-format on every file; under RECTO_FULL (--config=full)
clang-tidy's naming rules too, which take minutes. A tool that is not installed, or whose version
formats differently, is skipped with a line that says so.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from source_tree import Kind, SourceTree

FORMAT_VERSION = 14  # other versions break lines elsewhere
_COMPILER_FLAGS = ["-std=c++20", "-I."]
_NAMES = "readability-identifier-naming"


def main():
    root = Path(__file__).resolve().parents[2]
    sources = [file.path for file in SourceTree.of_folder(root).of_kind(Kind.CPP)]
    os.chdir(root)
    failures = check_format(sources) + check_names(sources)
    print(f"clang checks: {len(sources)} files, {failures} with violations")
    return 1 if failures else 0


def check_format(sources):
    version = major_version("clang-format")
    if version != FORMAT_VERSION:
        return skip("clang-format", f"version {FORMAT_VERSION} wanted, {version or 'none'} found")
    done = subprocess.run(
        ["clang-format", "--dry-run", *sources], capture_output=True, text=True, check=True
    )
    return report(re.findall(r"^(\S+?:\d+):\d+: warning: .*", done.stderr, re.M), "not formatted")


def check_names(sources):
    if not os.environ.get("RECTO_FULL"):
        return skip("clang-tidy", "names are checked under --config=full")
    if major_version("clang-tidy") is None:
        return skip("clang-tidy", "not installed")
    units = [path for path in sources if path.endswith(".cc")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(tidy_output, units))
    unread = sum(": error: " in output and "[clang-diagnostic" in output for output in outputs)
    if unread:  # a header that only the build generates, or a library that is not installed
        skip("clang-tidy", f"{unread} of {len(units)} files that cannot be compiled outside Bazel")
    complaint = re.compile(rf"^(\S+?):(\d+):\d+: \w+: (.*) \[{_NAMES}", re.M)
    found = [
        f"{os.path.relpath(path)}:{line}: {text}"
        for output in outputs
        for path, line, text in complaint.findall(output)
    ]
    return report(sorted(set(found)), "named otherwise than STYLE.md says")


def tidy_output(unit):
    command = ["clang-tidy", "--quiet", f"--checks=-*,{_NAMES}", unit, "--", *_COMPILER_FLAGS]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def major_version(tool):
    if shutil.which(tool) is None:
        return None
    text = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"version (\d+)", text).group(1))


def report(places, what):
    for place in places:
        print(f"{place}: {what}")
    return len(places)


def skip(tool, reason):
    print(f"SKIPPED: {tool}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
