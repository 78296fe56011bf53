#!/usr/bin/env python3
"""docs/known-bugs.md, the tests that are named after its ids, and the sources of picked mutants say
the same.

The document and each section have as many rows as their titles say. A row has one of these:

- a source, in which a test case's name begins with the id. There is a fault that this test is held
  against: a mutant that it has to find; or else the test case does the same wrongly, on a line that
  ends in "that it would be seen";
- the names of all other mutants that have the id for a source;
- "cannot occur: " and a reason, and then no test and no mutant.

Whatever a test case or a mutant says it is of has a row.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import copies  # noqa: E402

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCUMENT = ROOT / "docs/known-bugs.md"
ROW = re.compile(r"^\| \[([a-z0-9-]+)\]\((https://\S+)\) \| (.+) \| (.+) \|$")
TITLE = re.compile(r"^## .* \((\d+)\)$")
COUNT = re.compile(r"^# .* \((\d+)\)$")
CASE = re.compile(r'^TEST_CASE\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+): ', re.MULTILINE)
DONE_WRONGLY = re.compile(r"^ *CHECK_FALSE\(.+\);  // that it would be seen$", re.MULTILINE)
NAMES = re.compile(r"`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*")
OWN = "own"  # source of a mutant that no other project reported
REASON = "cannot occur: "
WORDS_OF_A_REASON = 5


def read_rows(lines, failures):
    """id -> what its last column says; sections are counted."""
    rows = {}
    expected, seen, title = 0, 0, ""
    for line in [*lines, "## the end (0)"]:
        if match := TITLE.match(line):
            if seen != expected:
                failures.append(f"'{title}' has {seen} rows")
            expected, seen, title = int(match[1]), 0, line
        elif match := ROW.match(line):
            if match[1] in rows:
                failures.append(f"{match[1]} has two rows")
            rows[match[1]] = match[4]
            seen += 1
        elif line.startswith("| ["):
            failures.append(f"'{line}' is no row of an id, a link, a text and a test or mutants")
    count = COUNT.match(lines[0])
    if not count or int(count[1]) != len(rows):
        failures.append(f"'{lines[0]}' has {len(rows)} rows")
    return rows


class Evidence:
    """What says of ids that their faults are seen."""

    def __init__(self):
        self.cases = {}  # id -> the source that has its test case
        self.held_against = set()  # ids whose test case is held against a fault
        self.mutants = {}  # id -> names of other mutants that have it for a source
        tests = [*HERE.glob("*_test.cc"), ROOT / "verify/kernels/host_api/host_api_graph_test.cc"]
        for path in tests:
            self.read_cases(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
        for mutant in copies.read_picked(sorted(HERE.glob("picked/*/*.txt"))):
            for source in mutant.source.split(", "):
                if mutant.found_by == "tests of known bugs":
                    self.held_against.add(source)
                elif source != OWN:
                    self.mutants.setdefault(source, set()).add(mutant.name)

    def read_cases(self, text, path):
        for begin in CASE.finditer(text):
            self.cases[begin[1]] = path
            if DONE_WRONGLY.search(text[begin.start() :].split("\nTEST_CASE(")[0]):
                self.held_against.add(begin[1])

    def failure(self, name, where):
        """What is wrong with the row of an id, or None."""
        if where.startswith(REASON):
            if len(where.split()) < WORDS_OF_A_REASON:
                return f"{name}: expected a reason, got '{where}'"
            if name in self.cited():
                return f"{name}: cannot occur, and is tested or planted"
        elif NAMES.fullmatch(where):
            if set(where.replace("`", "").split(", ")) != self.mutants.get(name, set()):
                return f"{name}: mutants of it are {sorted(self.mutants.get(name, []))}"
        elif where.strip("`") != self.cases.get(name):
            return f"{name}: {where} has no test case of that name"
        elif name not in self.held_against:
            return f"{name}: its test is held against no fault"
        return None

    def cited(self):
        """All ids that a test case or a mutant says it is of."""
        return self.cases.keys() | self.mutants.keys() | self.held_against


def main():
    failures = []
    rows = read_rows(DOCUMENT.read_text(encoding="utf-8").splitlines(), failures)
    evidence = Evidence()
    of_rows = [evidence.failure(name, where) for name, where in rows.items()]
    failures += [failure for failure in of_rows if failure]
    failures += [f"{name}: is cited, and has no row" for name in evidence.cited() - rows.keys()]
    for failure in failures:
        print(f"FAILED: {DOCUMENT}: {failure}")
    reasons = sum(where.startswith(REASON) for where in rows.values())
    tested = len(evidence.cases.keys() & rows.keys())
    print(
        f"{len(rows)} faults, {tested} with a test, {len(rows) - tested - reasons} with mutants"
        f" alone, {reasons} with a reason"
    )
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
