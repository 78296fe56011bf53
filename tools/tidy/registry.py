"""All rules, and the one way to run them."""

import check_arrows
import check_docs
import check_names
import check_reach
import check_sizes
import check_text
import check_words
from check_style import style_rule
from exemptions import apply_exemptions
from project import Project
from rule import Rule, Violation
from source_tree import SourceTree

# Not rules of their own: what exemptions.py finds wrong in its two lists.
LIST_RULE_IDS = ("ratchet", "allowed")


def rule_ids() -> list[str]:
    return [rule.rule_id for rule in RULES] + list(LIST_RULE_IDS)


RULES: tuple[Rule, ...] = (
    *check_arrows.RULES,
    *check_sizes.RULES,
    *check_reach.RULES,
    *check_docs.RULES,
    *check_names.RULES,
    *check_words.RULES,
    *check_text.RULES,
    style_rule(rule_ids),
)


def check(tree: SourceTree) -> list[Violation]:
    """The violations in the tree, ordered by place."""
    project = Project(tree)
    found = [
        Violation(rule.rule_id, finding) for rule in RULES for finding in rule.find(project)
    ]
    left = apply_exemptions(tree, RULES, found)
    return sorted(left, key=lambda v: (v.finding.path, v.finding.line, v.rule_id, str(v)))
