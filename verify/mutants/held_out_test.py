#!/usr/bin/env python3
"""The campaign that is kept of another draw is of all its mutants, each that was not killed has its
reason, and docs/mutation.md shows the tables.

    held_out_test.py RESULT.json EQUIVALENT.txt SURVIVED.txt MUTATION.md DRAWN.txt...
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import copies  # noqa: E402
import listed_mutants  # noqa: E402
import report  # noqa: E402


class HeldOut(unittest.TestCase):
    def setUp(self):
        result, equivalent, survived, self.document, *self.drawn = FILES
        self.equivalent = listed_mutants.read_arguments(equivalent)
        self.survived = listed_mutants.read_arguments(survived)
        self.result = json.loads(Path(result).read_text(encoding="utf-8"))["mutants"]

    def test_it_has_what_was_drawn(self):
        drawn = set().union(*(copies.read_names(Path(file)) for file in self.drawn))
        self.assertEqual(sorted(drawn), sorted(mutant["name"] for mutant in self.result))

    def test_what_was_not_killed_is_listed_with_its_reason(self):
        unseen = {m["name"] for m in self.result if m["listed"] in report.UNSEEN}
        self.assertEqual(unseen, self.equivalent.keys())
        real = [mutant for mutant in self.result if mutant["name"] not in unseen]
        survived = {mutant["name"] for mutant in real if mutant["ours"] != "killed"}
        self.assertEqual(survived, self.survived.keys())

    def test_the_document_shows_its_tables(self):
        text = Path(self.document).read_text(encoding="utf-8")
        self.assertIn(report.table_by("area", self.result), text)
        self.assertIn(report.killer_table(self.result), text)
        self.assertIn(report.open_table(self.result, self.survived), text)
        self.assertIn(report.equivalent_table(self.result, self.equivalent), text)


if __name__ == "__main__":
    FILES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
