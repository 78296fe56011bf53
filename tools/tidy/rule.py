"""What a rule is, and what a finding is."""

from dataclasses import dataclass
from typing import Callable, Iterable

from project import Project


@dataclass(frozen=True)
class Size:
    """What is too large, and how large it is, as used by the ratchet list."""

    subject: str
    amount: int


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str  # what is wrong
    remedy: str  # what to do instead
    size: Size | None = None


@dataclass(frozen=True)
class Rule:
    rule_id: str
    find: Callable[[Project], Iterable[Finding]]
    # Whether allowed.txt may name a file to which the rule does not apply, with the reason.
    takes_exceptions: bool = False


@dataclass(frozen=True)
class Violation:
    """A finding with the rule that it breaks."""

    rule_id: str
    finding: Finding

    def __str__(self) -> str:
        found = self.finding
        return f"{found.path}:{found.line}: {self.rule_id}: {found.message} ({found.remedy})"
