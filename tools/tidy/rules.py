"""What a rule is, where all of them are found, and the two lists of exemptions.

ratchet.txt   debts: a size beyond its limit. `rule | subject | amount | reason`. The amount is
              exactly what is there, so that whoever shrinks the thing must shrink the entry.
allowed.txt   files to which a rule does not apply, for good. `rule | path | reason`.
"""

from __future__ import annotations

from typing import Callable, Iterable, NamedTuple

from tree import File, Tree

RATCHET = "tools/tidy/ratchet.txt"
ALLOWED = "tools/tidy/allowed.txt"
_SHORTEST_REASON = 12  # characters: a word is no reason


class Finding(NamedTuple):
    path: str
    line: int
    message: str
    # Of what is too large: its name and size, as the ratchet list has them.
    subject: str = ""
    amount: int = 0


class Rule(NamedTuple):
    find: Callable[[Tree], Iterable[Finding]]
    remedy: str  # what to do instead
    spares_files: bool = False  # those that allowed.txt names


RULES: dict[str, Rule] = {
    # Violations of these are what is wrong with the two lists.
    "ratchet": Rule(lambda tree: (), "give the amount that is there, or remove the entry"),
    "allowed": Rule(lambda tree: (), "mend or remove the entry"),
}


def rule(remedy: str, spares_files: bool = False):
    """Makes a function a rule with its name."""

    def add(find):
        RULES[find.__name__.replace("_", "-")] = Rule(find, remedy, spares_files)
        return find

    return add


def found(file: File, offset: int, message: str) -> Finding:
    return Finding(file.path, file.line_at(offset), message)


def violations_of(tree: Tree) -> list[tuple[str, Finding]]:
    """With the names of the rules, ordered by place."""
    left = [(name, finding) for name, each in RULES.items() for finding in each.find(tree)]
    for line, (name, subject, text, reason) in tree.rows(RATCHET, 4):
        amount = int(text) if text.isdecimal() else 0
        about = [each for each in left if (each[0], each[1].subject) == (name, subject)]
        largest = max((each.amount for _, each in about), default=0)
        left = [each for each in left if each not in about or each[1].amount > amount]
        if not 0 < amount <= largest or len(reason) < _SHORTEST_REASON:
            message = f"{subject} is at {largest}, or there is no reason"
            left.append(("ratchet", Finding(RATCHET, line, message)))
    for line, (name, path, reason) in tree.rows(ALLOWED, 3):
        others = [each for each in left if (each[0], each[1].path) != (name, path)]
        is_needed = len(others) < len(left) and name in RULES and RULES[name].spares_files
        if is_needed and len(reason) >= _SHORTEST_REASON:
            left = others
        else:
            message = f"{path} does not break {name}, or it spares no file, or there is no reason"
            left.append(("allowed", Finding(ALLOWED, line, message)))
    return sorted(left, key=lambda each: (each[1].path, each[1].line, each[0], each[1].message))
