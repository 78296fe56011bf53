"""Tries the checks of a user's `recto verify` on a mutant, without any of recto's own tests: each
law by itself, then the oracle and the laws while every access is checked, as for kernels from
--cuda.
"""

import re

import outcome
from outcome import Outcome

NAMES, ONE_LAW = "alone: names of laws", "alone: a law"  # from laws_alone_test.cc
# These compare results with the reference: none of them is a law without an oracle.
BY_REFERENCE = ["oracle", "kv_write", "kv_append", "block_copy", "block_swap", "gather"]
# For one law; without a mutant the longest takes a tenth of this.
SECONDS = 120


def laws_of(program):
    """The names of the laws, as the program has them."""
    said = outcome.run(program, NAMES, 0, SECONDS).said
    return re.findall(r"^law: (\w+)$", said, re.MULTILINE)


def run_law(program, law, number):
    return outcome.run(program, ONE_LAW, number, SECONDS, RECTO_LAW_ALONE=law)


def is_of_law(law, found):
    """Whether the law itself failed, and not the backend in the middle of it."""
    if found.kind != "killed" or outcome.THROWN.search(found.said):
        return False
    return found.sort == (outcome.ORACLE if law == "oracle" else f"law: {law}")


def is_of_verify(found):
    """A user's build has none of the compiler's checks."""
    return found.kind == "killed" and found.sort not in outcome.CHECKED.values()


class Alone:
    """Tries one mutant: the laws that saw it, each by itself, and whether and how `recto verify`
    did."""

    def __init__(self):
        self.laws, self.verify = [], Outcome("passed")

    def run(self, program, number, seconds):
        for law in program.laws:
            found = run_law(program, law, number)
            self.add(found)
            if is_of_law(law, found):
                self.laws.append(law)
        for spec in program.verifies:
            if self.verify.kind != "killed":
                self.add(outcome.run(program, spec, number, seconds))
        return self

    def add(self, found):
        is_end = found.kind in ("crashed", "clock", "threw") and self.verify.kind == "passed"
        if is_end or (is_of_verify(found) and self.verify.kind != "killed"):
            self.verify = found

    def result(self):
        return {"verify": self.verify.kind, "said": self.verify.shown(), "laws": self.laws}
