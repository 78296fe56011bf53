#!/usr/bin/env python3
"""The tests that the README lists are those that --config=cuda picks.

    gpu_tests_test.py README TESTS_TAGGED_CUDA
"""

import re
import sys
from pathlib import Path


def main(readme, tagged):
    listed = set(re.findall(r"`(//[\w/]+:\w+)`", Path(readme).read_text("utf-8")))
    picked = set(Path(tagged).read_text("utf-8").split())
    for test in sorted(listed - picked):
        print(f"FAILED: {test} is listed, and has no tag 'cuda'")
    for test in sorted(picked - listed):
        print(f"FAILED: {test} has the tag 'cuda', and is not listed")
    print(f"{len(listed & picked)} tests are listed and picked")
    return 0 if listed == picked and listed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
