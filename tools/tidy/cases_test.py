"""The canary: each rule must see each of its cases, and no other rule may report it."""

import unittest

import cases_code
import cases_structure
from case_tree import overlaid
from registry import check, rule_ids
from source_tree import SourceTree

PASSES = cases_structure.PASSES | cases_code.PASSES
FAILS = cases_structure.FAILS | cases_code.FAILS
# The lists have no case of their own that passes: every other case has them empty.
_WITHOUT_PASSES = {"ratchet", "allowed"}


def violations_of(overlay):
    return check(SourceTree.of_texts(overlaid(overlay)))


class CasesTest(unittest.TestCase):
    def test_the_clean_tree_is_clean(self):
        self.assertEqual([str(violation) for violation in violations_of({})], [])

    def test_every_rule_has_cases_that_fail_and_cases_that_pass(self):
        self.assertEqual(set(FAILS), set(rule_ids()))
        self.assertEqual(set(PASSES), set(rule_ids()) - _WITHOUT_PASSES)

    def test_what_must_pass_passes_every_rule(self):
        for rule_id, overlays in PASSES.items():
            for number, overlay in enumerate(overlays):
                with self.subTest(rule=rule_id, case=number):
                    self.assertEqual([str(violation) for violation in violations_of(overlay)], [])

    def test_what_must_fail_is_seen_by_its_rule_alone(self):
        for rule_id, overlays in FAILS.items():
            for number, overlay in enumerate(overlays):
                with self.subTest(rule=rule_id, case=number):
                    seen = {violation.rule_id for violation in violations_of(overlay)}
                    self.assertEqual(seen, {rule_id})


if __name__ == "__main__":
    unittest.main()
