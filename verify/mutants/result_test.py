#!/usr/bin/env python3
"""The last full campaign that is kept, result.json, is of the mutants that there are, and
docs/mutation.md shows its tables.

    result_test.py RESULT.json EQUIVALENT.txt OPEN.txt UNTRIED.txt MUTATION.md MUTANTS.json...
                   FAULTS.txt...
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import campaign  # noqa: E402
import listed_mutants  # noqa: E402
import outcome  # noqa: E402
import programs  # noqa: E402: which knows where plant.py is
import plant  # noqa: E402
import report  # noqa: E402


class Result(unittest.TestCase):
    def setUp(self):
        result, equivalent, still_open, untried, self.document, *lists = FILES
        self.campaign = report.read(result)
        self.result = self.campaign["mutants"]
        self.untried = listed_mutants.read_arguments(untried)
        self.equivalent = listed_mutants.read_arguments(equivalent)
        self.open = listed_mutants.read_arguments(still_open)
        self.listed = listed_mutants.read_lists(equivalent, still_open)
        faults = [file for file in lists if file.endswith(".txt")]
        self.planted = {f"planted:{fault.name}" for fault in plant.read_faults(faults)}
        self.seen_by = {}
        for file in lists:
            if file not in faults:
                listed = json.loads(Path(file).read_text(encoding="utf-8"))["mutants"]
                self.planted |= {mutant["name"] for mutant in listed}
                self.seen_by |= campaign.seen_by_of(listed)

    def test_it_has_every_mutant(self):
        known = {mutant["name"] for mutant in self.result}
        self.assertEqual(len(known), len(self.result))
        since = self.planted - known
        self.assertEqual(sorted(since), sorted(self.untried), "run the campaign anew")
        self.assertEqual(sorted(known - self.planted), [], "run the campaign anew")

    def test_what_was_not_killed_is_listed_with_its_reason(self):
        for mutant in self.result:
            name = mutant["name"]
            self.assertEqual(mutant["listed"], self.listed.get(name), name)
            # The document tells of a whole campaign.
            self.assertIn(mutant["ours"], {"killed", "passed", "threw", "crashed", "clock"}, name)
            self.assertEqual(mutant["ours"] == "killed", mutant["listed"] is None, name)

    def test_what_ought_to_see_them_are_sorts_of_checks(self):
        sorts = {outcome.EXECUTOR, outcome.ORACLE, *outcome.CHECKED.values()}
        sorts |= {group for kind in programs.KINDS.values() for group in kind.groups}
        picked = {mutant["name"] for mutant in self.result if mutant["operator"] == "picked"}
        names = {name for name in picked if not name.startswith("planted:")}
        self.assertEqual(names, self.seen_by.keys() - self.untried.keys())
        for name, expected in self.seen_by.items():
            unknown = {sort for sort in expected if not sort.startswith("law: ")} - sorts
            self.assertEqual(unknown, set(), name)

    def test_the_document_names_what_was_not_tried(self):
        text = Path(self.document).read_text(encoding="utf-8")
        for name in self.untried:
            self.assertIn(f"`{name}`", text)

    def test_the_document_shows_its_tables(self):
        text = Path(self.document).read_text(encoding="utf-8")
        self.assertIn(report.alone_table(self.result), text)
        self.assertIn(report.law_table(self.result, self.campaign.get("laws", [])), text)
        self.assertIn(report.table_by("area", self.result), text)
        self.assertIn(report.left_over(self.result), text)
        self.assertIn(report.table_by("operator", self.result), text)
        self.assertIn(report.killer_table(self.result), text)
        self.assertIn(report.executor_sentence(self.result), text)
        self.assertIn(report.seen_otherwise(self.result, self.seen_by), text)
        self.assertIn(report.equivalent_table(self.result, self.equivalent), text)
        if self.open:
            self.assertIn(report.open_table(self.result, self.open), text)


if __name__ == "__main__":
    FILES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
