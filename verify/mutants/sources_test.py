#!/usr/bin/env python3
"""Every source of a folder that has mutants is among those that are mutated, or among those that
are not, with the reason.

    sources_test.py SOURCES.bzl
"""

import fnmatch
import runpy
import sys
import unittest
from pathlib import Path


def sources_of(folder):
    files = [path for pattern in ("*.cc", "*.h") for path in Path(folder).glob(pattern)]
    return {str(path) for path in files if not path.stem.endswith(("_test", "_benchmark"))}


class Sources(unittest.TestCase):
    def setUp(self):
        lists = runpy.run_path(LISTS)
        self.mutated = lists["CACHE"] + lists["SIMULATOR"] + lists["REFERENCE"]
        self.spared = lists["NOT_MUTATED"]
        folders = {str(Path(path).parent) for path in self.mutated}
        self.there = set().union(*(sources_of(folder) for folder in folders))

    def matched(self, pattern):
        return set(fnmatch.filter(self.there, pattern))

    def test_none_is_forgotten(self):
        spared = set().union(*(self.matched(pattern) for pattern in self.spared))
        self.assertEqual(sorted(self.there - set(self.mutated) - spared), [])
        self.assertEqual(sorted(spared & set(self.mutated)), [], "mutated, and not")

    def test_none_is_gone(self):
        self.assertEqual(sorted(set(self.mutated) - self.there), [])
        for pattern, reason in self.spared.items():
            self.assertNotEqual(self.matched(pattern), set(), pattern)
            self.assertNotEqual(reason, "", pattern)


if __name__ == "__main__":
    LISTS = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
