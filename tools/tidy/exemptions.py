"""The two lists of exemptions from tidy. An entry that is no longer needed is itself a finding.

ratchet.txt   debts: a size beyond its limit. `rule | subject | amount | reason`. The amount is
              exactly what is there, so that whoever shrinks the thing must shrink the entry.
allowed.txt   files to which a rule does not apply, for good. `rule | path | reason`.
"""

from dataclasses import dataclass
from typing import Iterable, Iterator

from rule import Finding, Rule, Violation
from source_tree import SourceTree

RATCHET = "tools/tidy/ratchet.txt"
ALLOWED = "tools/tidy/allowed.txt"
_SHORTEST_REASON = 12  # characters: a word is no reason


@dataclass(frozen=True)
class _Entry:
    path: str
    line: int
    fields: tuple[str, ...]

    def complain(self, message: str, remedy: str) -> Violation:
        rule_id = "ratchet" if self.path == RATCHET else "allowed"
        return Violation(rule_id, Finding(self.path, self.line, message, remedy))


def apply_exemptions(
    tree: SourceTree, rules: Iterable[Rule], violations: list[Violation]
) -> list[Violation]:
    """The violations that are left, and what is wrong with the lists themselves."""
    complaints: list[Violation] = []
    left = violations
    for entry in _read(tree, RATCHET, 4, complaints):
        left, complaint = _apply_ratchet(entry, left)
        complaints += complaint
    exceptional = {rule.rule_id for rule in rules if rule.takes_exceptions}
    for entry in _read(tree, ALLOWED, 3, complaints):
        left, complaint = _apply_allowed(entry, exceptional, left)
        complaints += complaint
    return left + complaints


def _read(
    tree: SourceTree, path: str, field_count: int, complaints: list[Violation]
) -> Iterator[_Entry]:
    file = tree.get(path)
    for number, line in enumerate(file.lines if file else (), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = _Entry(path, number, tuple(field.strip() for field in line.split("|")))
        if len(entry.fields) != field_count:
            message = f"{len(entry.fields)} fields"
            complaints.append(entry.complain(message, f"{field_count}, divided by |"))
        elif len(entry.fields[-1]) < _SHORTEST_REASON:
            complaints.append(entry.complain("no reason", "say why, in a sentence"))
        else:
            yield entry


def _apply_ratchet(
    entry: _Entry, violations: list[Violation]
) -> tuple[list[Violation], list[Violation]]:
    rule_id, subject, amount_text, _ = entry.fields
    if not amount_text.isdecimal():
        return violations, [entry.complain(f"`{amount_text}` is no amount", "a number")]
    amount = int(amount_text)
    sizes = [
        violation.finding.size.amount
        for violation in violations
        if _is_about(violation, rule_id, subject)
    ]
    if not sizes:
        message = f"{subject} does not break {rule_id}"
        return violations, [entry.complain(message, "remove the entry")]
    left = [
        violation
        for violation in violations
        if not _is_about(violation, rule_id, subject) or violation.finding.size.amount > amount
    ]
    if max(sizes) < amount:
        message = f"{subject} is down to {max(sizes)}"
        return left, [entry.complain(message, f"lower the amount from {amount} too")]
    return left, []


def _is_about(violation: Violation, rule_id: str, subject: str) -> bool:
    size = violation.finding.size
    return violation.rule_id == rule_id and size is not None and size.subject == subject


def _apply_allowed(
    entry: _Entry, exceptional: set[str], violations: list[Violation]
) -> tuple[list[Violation], list[Violation]]:
    rule_id, path, _ = entry.fields
    if rule_id not in exceptional:
        message = f"{rule_id} takes no exceptions"
        return violations, [entry.complain(message, f"only: {', '.join(sorted(exceptional))}")]
    left = [
        violation
        for violation in violations
        if (violation.rule_id, violation.finding.path) != (rule_id, path)
    ]
    if len(left) == len(violations):
        message = f"{path} does not break {rule_id}"
        return violations, [entry.complain(message, "remove the entry")]
    return left, []
