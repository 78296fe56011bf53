#!/usr/bin/env python3
"""Every test that is linked to mutants is in a group of its program, and groups have no others.

    programs_test.py TESTS.bzl
"""

import re
import runpy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import programs  # noqa: E402

# Finders, and tests of known bugs, which libraries bring.
BROUGHT = {
    programs.Kernels: [],
    programs.Cache: programs.KNOWN_BUGS,
    programs.Simulator: [],
    programs.Reference: ["[#canaries_test]"],
}


def tags(program):
    specs = [spec for group in program.groups.values() for spec in group]
    return sorted(tag for spec in specs for tag in re.findall(r"\[#\w+\]", spec))


def tags_of(files):
    return [f"[#{re.split('[:/]', file)[-1].removesuffix('.cc')}]" for file in files]


class Groups(unittest.TestCase):
    def test_they_name_what_is_linked(self):
        lists = runpy.run_path(LISTS)
        of_kernels = lists["KERNEL_TESTS"] + lists["HOST_API_TESTS"]
        linked = {
            programs.Kernels: [f"{name}_test" for name in of_kernels],
            programs.Cache: lists["CACHE_TESTS"] + lists["CACHE_USERS"],
            programs.Simulator: lists["SIMULATOR_TESTS"] + lists["SIMULATOR_USERS"],
            programs.Reference: lists["REFERENCE_TESTS"],
        }
        for program, files in linked.items():
            own = [tag for tag in tags(program) if tag not in BROUGHT[program]]
            expected = [tag for tag in tags_of(files) if tag not in BROUGHT[program]]
            self.assertEqual(own, sorted(expected), program.__name__)

    def test_what_is_begun_with_is_a_group(self):
        for program in (programs.Kernels, programs.Cache, programs.Simulator, programs.Reference):
            names = [name for _, first in program.preferred for name in first] + program.long
            self.assertLessEqual(set(names), set(program.groups), program.__name__)


if __name__ == "__main__":
    LISTS = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
