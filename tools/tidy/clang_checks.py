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

from header_check import INCLUDES, ROOT
from tree import Tree

FORMAT_VERSION = 14  # other versions break lines elsewhere
_NAMES = "readability-identifier-naming"


def main():
    os.chdir(ROOT)
    sources = [file.path for file in Tree.of_folder(ROOT).of("c++")]
    found = check_format(sources) + check_names(sources)
    print("\n".join([*found, f"clang checks: {len(sources)} files, {len(found)} violations"]))
    return 1 if found else 0


def check_format(sources):
    version = major_version("clang-format")
    if version != FORMAT_VERSION:
        return skip("clang-format", f"version {FORMAT_VERSION} wanted, {version or 'none'} found")
    said = output_of("clang-format", "--dry-run", *sources)
    places = re.findall(r"^(\S+?:\d+):\d+: warning: .*", said, re.M)
    return [f"{place}: not formatted" for place in places]


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
    found = {match for output in outputs for match in complaint.findall(output)}
    return [f"{os.path.relpath(path)}:{line}: {text}" for path, line, text in sorted(found)]


def tidy_output(unit):
    checks = f"--checks=-*,{_NAMES}"
    return output_of("clang-tidy", "--quiet", checks, unit, "--", "-std=c++20", *INCLUDES)


def output_of(*command):
    both = subprocess.STDOUT
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=both, text=True).stdout


def major_version(tool):
    if shutil.which(tool) is None:
        return None
    return int(re.search(r"version (\d+)", output_of(tool, "--version")).group(1))


def skip(tool, reason):
    print(f"SKIPPED: {tool}: {reason}")
    return []


if __name__ == "__main__":
    sys.exit(main())
