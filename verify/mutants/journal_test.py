#!/usr/bin/env python3
"""A campaign goes on where it was ended: with results of the same commit, written whole."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from journal import Journal  # noqa: E402


class Journals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "journal.jsonl"

    def test_what_was_added_is_known_again(self):
        Journal(self.path, "abc").add({"name": "a:1", "ours": "killed"})
        Journal(self.path, "abc").add({"name": "b:2", "ours": "passed"})
        again = Journal(self.path, "abc")
        self.assertEqual(again.result_of("a:1"), {"name": "a:1", "ours": "killed"})
        self.assertEqual(again.result_of("b:2"), {"name": "b:2", "ours": "passed"})
        self.assertIsNone(again.result_of("c:3"))

    def test_another_commit_knows_nothing_of_it(self):
        Journal(self.path, "abc").add({"name": "a:1"})
        self.assertIsNone(Journal(self.path, "def").result_of("a:1"))

    def test_the_time_of_earlier_parts_counts(self):
        first = Journal(self.path, "abc")
        first.earlier = 100.0
        first.add({"name": "a:1"})
        self.assertGreaterEqual(Journal(self.path, "abc").seconds(), 100.0)
        self.assertLess(Journal(self.path, "def").seconds(), 100.0)

    def test_a_torn_line_is_dropped_and_the_next_one_is_whole(self):
        Journal(self.path, "abc").add({"name": "a:1"})
        with self.path.open("a", encoding="utf-8") as file:
            file.write('{"built_from": "abc", "resu')
        torn = Journal(self.path, "abc")
        self.assertEqual(list(torn.results), ["a:1"])
        torn.add({"name": "b:2"})
        self.assertEqual(list(Journal(self.path, "abc").results), ["a:1", "b:2"])

    def test_without_a_path_nothing_is_kept(self):
        journal = Journal(None, "abc")
        journal.add({"name": "a:1"})
        self.assertIsNone(journal.result_of("a:1"))


if __name__ == "__main__":
    unittest.main()
