#!/usr/bin/env python3
"""docs/mutation.md has the figures of the campaigns that are kept, in its sentences, too; and that
of copies without instrumentation is of what instrumentation was the first to see.

    document_test.py MUTATION.md RESULT.json HELD_OUT.json UNINSTRUMENTED.json SURVIVED.txt
"""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import listed_mutants  # noqa: E402
import report  # noqa: E402
import sentences  # noqa: E402
import uninstrumented  # noqa: E402

BLOCK = re.compile(r"^```.*?^```$|^\|.*?$", re.MULTILINE | re.DOTALL)
# Of results: shares, percentages, and counts above ten; not versions, dates, hashes, exponents.
FIGURE = re.compile(r"\d+ of (?:the )?\d+|\d+(?:\.\d+)? %|(?<![\w./:-])\d{2,}(?![\w./:-])")
# What the page says of itself.
NOT_COUNTED = ["100 % was reached by working on the survivors.", "So 100 % means"]


def plain(text):
    return " ".join(text.split())


class Document(unittest.TestCase):
    def setUp(self):
        document, *results, self.survived = FILES
        self.text = Path(document).read_text(encoding="utf-8")
        self.first, self.second, self.alone = (report.read(result) for result in results)
        self.sentences = sentences.sentences(self.first, self.second, self.alone)

    def test_it_has_the_sentences(self):
        text = plain(self.text)
        for sentence in self.sentences:
            self.assertIn(sentence, text)

    def test_it_has_no_other_figures(self):
        text = plain(BLOCK.sub("", self.text))
        held = self.sentences + [plain(report.executor_sentence(self.first["mutants"]))]
        for sentence in sorted(held + NOT_COUNTED, key=len, reverse=True):
            text = text.replace(sentence, "")
        # The heading of a table that result_test holds.
        text = re.sub(r"\d+ of \d+ were killed by another sort of check:", "", text)
        self.assertEqual([found[0] for found in FIGURE.finditer(text)], [])

    def test_it_shows_what_instrumentation_alone_sees(self):
        mutants = self.alone["mutants"]
        self.assertIn(uninstrumented.area_table(mutants), self.text)
        survived = listed_mutants.read_arguments(self.survived)
        passed = {mutant["name"] for mutant in mutants if mutant["ours"] == "passed"}
        self.assertEqual(passed, survived.keys())
        self.assertIn(uninstrumented.left_table(mutants, survived), self.text)

    def test_what_instrumentation_saw_first_was_tried_without(self):
        first = [m["name"] for m in self.first["mutants"] if report.is_first_by_compiler(m)]
        self.assertEqual(sorted(first), sorted(m["name"] for m in self.alone["mutants"]))
        for mutant in self.alone["mutants"]:
            self.assertFalse(report.is_first_by_compiler(mutant), mutant["name"])


if __name__ == "__main__":
    FILES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
