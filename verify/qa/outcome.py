"""Runs a program of tests with a mutant active, and tells what became of it, and what killed it.

A kill is a failed assertion of Catch2, a broken contract (core/contract.h), which is how the
executor reports its findings, too, or a line that mutant.cc prints. Another exception comes out of
a library and does not say what is wrong. So it counts separately, as crashes and the clock do.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

EXECUTOR, ORACLE = "checks of the executor", "the oracle"
# What mutant.cc prints, and what sort of check that is.
INSTRUMENTED = {"out of bounds": "bounds of containers", "undefined": "undefined behaviour"}
REPORTED = re.compile("^(out of bounds|undefined): .*", re.MULTILINE)
# Long names continue on a second line, after their colon if they have one; sections of a case are
# indented by two blanks.
HEADER = re.compile(r"^-{79}\n(\S.*\n(?:(?:|   +)\S.*\n)*)(?:  .*\n)*-{79}\n", re.MULTILINE)
FAILED = re.compile(r"^\S.*: FAILED:\n((?:.*\n)*?)(?=\S.*: FAILED:$|[-=.]{79}$|\Z)", re.MULTILINE)
# From kernel_finders_test.cc and laws_alone_test.cc.
LAW = re.compile(r"explicitly with message: (\w+) on ")
# From a test; from a property; or from the backend on which a law ran.
THROWN = re.compile(
    r"(?:due to unexpected exception with messages?:"
    r"|explicitly with message: Falsifiable after .* Exception thrown with message:"
    r"|explicitly with message: \w+ on .*?: a call failed)(.*)"
)
# These check exceptions: a different exception than expected fails them.
ABOUT_EXCEPTIONS = re.compile(r"(CHECK|REQUIRE)_(NO)?THROW")
CONTRACT = "contract broken: "
# Parts of a message without information. Where lines are broken, paths have blanks.
NOISE = re.compile(
    r"\{Unknown expression[^}]*\} |due to unexpected exception with messages?: "
    r"|bazel-out/ ?\S+/ ?bin/ ?verify/ ?qa/ ?copies/ ?"
    r"|verify/ ?kernels/ ?device_call\.cc:\d+: contract broken: nothing is found in the kernels \("
)
SHOWN = 120
WAITING_SECONDS = 20  # without any CPU time; tests compute all the time


class Outcome(NamedTuple):
    """The end of one process: "passed", "killed", "threw" (an exception of a library), "crashed"
    or "clock"; the test case, what it said, and the sort of check, where that shows."""

    kind: str
    by: str = ""
    said: str = ""
    sort: str = ""

    def shown(self):
        """What it said, shortened."""
        said = NOISE.sub("", self.said)
        return said if len(said) <= SHOWN else said[: SHOWN - 3] + "..."


def run(program, spec, number, seconds, **variables):
    """Runs the test cases of a specification with a mutant, up to the first that fails; or all of
    them, if the first ended by an exception of a library."""
    environment = {**os.environ, "RECTO_MUTANT": str(number), **variables}
    for name in ("TESTBRIDGE_TEST_ONLY", "RECTO_FULL"):  # the lists are of the default tests
        environment.pop(name, None)
    command = [str(program), "-#", spec]
    first = outcome_under([*command, "--abort"], environment, seconds)
    if first.kind != "threw":
        return first
    whole = outcome_under(command, environment, seconds)
    return whole if whole.kind == "killed" else first


def progress_of(process):
    """The CPU time of a process, in clock ticks, and whether it or a child may be computing."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children")
    may_compute = fields[0] in "RD" or children.exists() and children.read_text("utf-8") != ""
    return int(fields[11]) + int(fields[12]), may_compute


def finished(command, environment, seconds):
    """The ended process; None if it took too long. One that only waits, and for no child, has
    crashed within malloc: Catch2's handler of the signal allocates, too, and waits for ever."""
    end, before = time.monotonic() + seconds, None
    with subprocess.Popen(command, env=environment, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while True:
            left = end - time.monotonic()
            try:
                said = process.communicate(timeout=min(WAITING_SECONDS, max(0, left)))
                return subprocess.CompletedProcess(command, process.returncode, *said)
            except subprocess.TimeoutExpired:
                now = progress_of(process.pid)
                if left <= 0 or (now == before and not now[1]):
                    process.kill()
                if left <= 0:
                    return None
                before = now


def outcome_under(command, environment, seconds):
    done = finished(command, environment, seconds)
    if done is None:
        return Outcome("clock")
    if done.returncode != 0:
        return outcome_of(done)
    if "All tests passed" not in done.stdout:
        sys.exit(f"'{command}' did not run:\n{done.stdout[-2000:]}")
    return Outcome("passed", said=done.stdout)


def outcome_of(done):
    """The outcome of a program that failed: the first of its cases that killed, if one did."""
    reported = REPORTED.search(done.stdout)
    if reported:
        sort = INSTRUMENTED[reported[1]]
        return Outcome("killed", sort, reported[0], sort)
    header = HEADER.search(done.stdout)
    by = words(header[1]) if header else ""
    signal = re.search(r"fatal error condition:\s+(.*)", done.stdout)
    if signal or done.returncode < 0:
        return Outcome("crashed", by, signal[1] if signal else f"signal {-done.returncode}")
    cases = outcomes_of_cases(done.stdout)
    if not cases:
        return Outcome("crashed", by, words(done.stdout[-200:]))
    return next((case for case in cases if case.kind == "killed"), cases[0])


def outcomes_of_cases(text):
    """The outcome of each failed case, by its first failure: others may follow from it."""
    headers = list(HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    failures = [FAILED.search(text, header.end(), end) for header, end in zip(headers, ends)]
    return [outcome_of_case(words(h[1]), words(f[1])) for h, f in zip(headers, failures) if f]


def words(text):
    return " ".join(text.split())


def outcome_of_case(by, said):
    if "seconds without a barrier" in said:  # the executor's clock (verify/simt/executor)
        return Outcome("clock", by, said)
    thrown = THROWN.search(said)
    if thrown and not ABOUT_EXCEPTIONS.match(said) and CONTRACT not in thrown[1]:
        return Outcome("threw", by, said)
    return Outcome("killed", by, said, sort_of(said))


def sort_of(said):
    """Which law failed; or the executor's checks, which name the kernel in which they found
    something."""
    if " in kernel '" in said:
        return EXECUTOR
    law = LAW.search(said)
    if not law:
        return ""
    return ORACLE if law[1] == "oracle" else f"law: {law[1]}"
