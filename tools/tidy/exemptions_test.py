"""The two lists let pass exactly what they name."""

import unittest

from case_tree import overlaid, script
from exemptions import ALLOWED, RATCHET
from registry import check
from source_tree import SourceTree

_LONG = script("long.py", "#" * 120 + "\n" + "#" * 110 + "\n")


def rules_broken(overlay):
    violations = check(SourceTree.of_texts(overlaid(overlay)))
    return [violation.rule_id for violation in violations]


class ExemptionsTest(unittest.TestCase):
    def test_without_an_entry_the_rule_holds(self):
        self.assertEqual(rules_broken(_LONG), ["line-columns", "line-columns"])

    def test_a_ratchet_entry_covers_what_is_no_larger(self):
        entry = "line-columns | sim/long.py | 120 | a table that reads better wide\n"
        self.assertEqual(rules_broken(_LONG | {RATCHET: entry}), [])

    def test_what_grew_beyond_its_entry_is_seen(self):
        entry = "line-columns | sim/long.py | 115 | a table that reads better wide\n"
        self.assertEqual(rules_broken(_LONG | {RATCHET: entry}), ["line-columns"])

    def test_what_shrank_must_shrink_its_entry(self):
        entry = "line-columns | sim/long.py | 121 | a table that reads better wide\n"
        self.assertEqual(rules_broken(_LONG | {RATCHET: entry}), ["ratchet"])

    def test_functions_have_entries_of_their_own(self):
        function = "def f(a, b, c, d, e, f):\n    pass\n"
        overlay = script("wide.py", function + function.replace("def f", "def g"))
        entry = "parameters | sim/wide.py::f | 6 | the shape of a callback\n"
        self.assertEqual(rules_broken(overlay | {RATCHET: entry}), ["parameters"])

    def test_an_allowed_file_is_free_of_that_rule_only(self):
        lost = {"sim/lost.sh": "echo \n"}
        entry = "dead-file | sim/lost.sh | run by hand, before a release\n"
        self.assertEqual(rules_broken(lost | {ALLOWED: entry}), ["white-space"])

    def test_comments_and_empty_lines_are_no_entries(self):
        self.assertEqual(rules_broken({ALLOWED: "# rule | path\n\n", RATCHET: "#\n"}), [])

    def test_an_entry_needs_all_fields_and_a_reason(self):
        reason = "this is long enough"
        for text in ("a | b | 1", "a | b | 1 |", "a | b | 1 | short", f"a | b | x | {reason}"):
            with self.subTest(text):
                self.assertEqual(rules_broken({RATCHET: text + "\n"}), ["ratchet"])


if __name__ == "__main__":
    unittest.main()
