"""How a program ends under a mutant, and what killed it.

A kill is an assertion of Catch2, a broken contract (core/contract.h), which is how the executor
reports what it finds, or a line of bounds.cc. Another exception is not a check: it comes out of a
library, and does not say what is wrong. So it is counted separately, as crashes and the clock are.
"""

import os
import re
import subprocess
import sys

import watched

# Long names continue on a second line, after their colon if they have one; sections of a case are
# indented by two blanks.
HEADER = re.compile(r"^-{79}\n(\S.*\n(?:(?:|   +)\S.*\n)*)(?:  .*\n)*-{79}\n", re.MULTILINE)
FAILED = re.compile(r"^\S.*: FAILED:\n((?:.*\n)*?)(?=\S.*: FAILED:$|[-=.]{79}$|\Z)", re.MULTILINE)
BY_THE_CLOCK = "no switch"
# bounds.cc prints them.
LEFT = re.compile("^(out of bounds|undefined): .*", re.MULTILINE)
EXECUTOR, ORACLE = "checks of the executor", "the oracle"
CHECKED = {"out of bounds": "bounds of containers", "undefined": "undefined behaviour"}
# From attention_finders_test.cc and laws_alone_test.cc.
LAW = re.compile(r"explicitly with message: (\w+) on ")
# From a test; from a property, as RapidCheck reports it; or from the backend that a law was put to.
THROWN = re.compile(
    r"(?:due to unexpected exception with messages?:"
    r"|explicitly with message: Falsifiable after .* Exception thrown with message:"
    r"|explicitly with message: \w+ on .*?: thrown)(.*)"
)
# These check exceptions: a different exception than expected fails them.
ABOUT_EXCEPTIONS = re.compile(r"(CHECK|REQUIRE)_(NO)?THROW")
CONTRACT = "contract broken: "
# Says nothing about what was found. Where lines are broken, paths have blanks.
NOISE = re.compile(
    r"\{Unknown expression[^}]*\} |due to unexpected exception with messages?: "
    r"|bazel-out/ ?\S+/ ?bin/ ?verify/ ?mutants/ ?copies/ ?"
    r"|verify/ ?kernels/ ?device_call\.cc:\d+: contract broken: nothing is found in the kernels \("
)
SHOWN = 120


class Outcome:
    """Of one program under one mutant: "passed", "killed", "threw" (no exception of ours),
    "crashed" or "clock"; the test case, what it said, and what sort of check it was, where that
    shows."""

    def __init__(self, kind, by="", said="", sort=None):
        self.kind, self.by, self.said, self.sort = kind, by, said, sort

    def shown(self):
        """For tables: the message, shortened."""
        said = NOISE.sub("", self.said)
        return said if len(said) <= SHOWN else said[: SHOWN - 3] + "..."


def run(program, spec, number, seconds, **more):
    """`more` are further environment variables. Stops at the first case that fails; after a foreign
    exception the other cases run, too."""
    environment = {**os.environ, program.variable: str(number), **more}
    environment.pop("TESTBRIDGE_TEST_ONLY", None)
    command = [program.path, "-#", spec]
    first = outcome_under([*command, "--abort"], environment, seconds)
    if first.kind != "threw":
        return first
    whole = outcome_under(command, environment, seconds)
    return whole if whole.kind == "killed" else first


def outcome_under(command, environment, seconds):
    try:
        done = watched.run(command, environment, seconds)
    except watched.Waits:
        return Outcome("crashed", said="it waits for itself")
    except subprocess.TimeoutExpired:
        return Outcome("clock")
    if done.returncode == 0:
        if "All tests passed" not in done.stdout:
            sys.exit(f"'{command}' did not run:\n{done.stdout[-2000:]}")
        return Outcome("passed", said=done.stdout)
    return outcome_of(done)


def outcome_of(done):
    """The outcome of a program that failed: the first of its cases that killed, if one did."""
    left = LEFT.search(done.stdout)
    if left:
        return Outcome("killed", CHECKED[left[1]], left[0], CHECKED[left[1]])
    header = HEADER.search(done.stdout)
    by = " ".join(header[1].split()) if header else ""
    if done.returncode < 0 or "fatal error condition" in done.stdout:
        return Outcome("crashed", by, crash_of(done))
    cases = outcomes_of_cases(done.stdout)
    if not cases:
        return Outcome("crashed", by, " ".join(done.stdout[-200:].split()))
    return next((case for case in cases if case.kind == "killed"), cases[0])


def outcomes_of_cases(text):
    """The outcome of each failed case, by its first failure: others may follow from it."""
    headers = list(HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    cases = []
    for header, end in zip(headers, ends):
        failed = FAILED.search(text, header.end(), end)
        if failed:
            cases.append(outcome_of_case(header, failed))
    return cases


def outcome_of_case(header, failed):
    by, said = " ".join(header[1].split()), " ".join(failed[1].split())
    if BY_THE_CLOCK in said:
        return Outcome("clock", by, said)
    if is_foreign(said):
        return Outcome("threw", by, said)
    return Outcome("killed", by, said, sort_of(said))


def crash_of(done):
    signal = re.search(r"fatal error condition:\s+(.*)", done.stdout)
    return signal[1] if signal else f"signal {-done.returncode}"


def is_foreign(said):
    """Whether it was ended by an exception that is not a broken contract and that no assertion
    checks."""
    thrown = THROWN.search(said)
    if not thrown or ABOUT_EXCEPTIONS.match(said):
        return False
    return CONTRACT not in thrown[1]


def sort_of(said):
    """Which law failed; or the executor's checks, which name the kernel in which they found
    something."""
    if " in kernel '" in said:
        return EXECUTOR
    law = LAW.search(said)
    return law and (ORACLE if law[1] == "oracle" else f"law: {law[1]}")
