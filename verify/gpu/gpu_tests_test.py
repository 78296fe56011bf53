#!/usr/bin/env python3
"""The tests that the README lists are those that --config=cuda picks, and none is forgotten.

    gpu_tests_test.py README TESTS_TAGGED_CUDA TESTS_OF_KERNELS...

Each test in TESTS_OF_KERNELS is either listed with _on_gpu, or with why it cannot be.
"""

import re
import sys
from pathlib import Path


EXCEPTIONS = "\nNot among them"
SUFFIX = "_on_gpu"


def forgotten(listed, excepted, of_kernels):
    """What is wrong with the list of exceptions."""
    for test in sorted(of_kernels):
        name = test.split(":")[1]
        if (test + SUFFIX in listed) == (name in excepted):
            where = "in both lists" if name in excepted else "in neither list"
            yield f"{test} links kernels, and is {where}"
    for name in sorted(excepted - {test.split(":")[1] for test in of_kernels}):
        yield f"{name} is listed as one that cannot, and is no test with kernels"


def main(readme, tagged, *kernels):
    text, exceptions = Path(readme).read_text("utf-8").split(EXCEPTIONS)
    listed = set(re.findall(r"`(//[\w/]+:\w+)`", text))
    rows = [line for line in exceptions.splitlines() if line.startswith("| `")]
    excepted = {name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    picked = set(Path(tagged).read_text("utf-8").split())
    of_kernels = {test for lists in kernels for test in Path(lists).read_text("utf-8").split()}
    for test in sorted(listed - picked):
        print(f"FAILED: {test} is listed, and has no tag 'cuda'")
    for test in sorted(picked - listed):
        print(f"FAILED: {test} has the tag 'cuda', and is not listed")
    wrong = list(forgotten(listed, excepted, of_kernels))
    for what in wrong:
        print(f"FAILED: {what}")
    print(f"{len(listed & picked)} tests are listed and picked, {len(excepted)} cannot be")
    return 0 if listed == picked and listed and excepted and not wrong else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
