#!/usr/bin/env python3
"""docs/known-bugs.md, the tests that are named after its ids, the planted faults and the sources of
mutants say the same.

    known_bugs_test.py DOCUMENT FILES...

FILES are sources of tests (*.cc), planted faults (of verify/planted_faults/plant.py) and picked
mutants (of verify/mutants/copies.py). The document and each section have as many rows as their
titles say. A row has one of these:

- a source, in which a test case's name begins with the id. There is a fault that this test is held
  against: a planted one whose name is the id, up to a dot; or else the test case does the same
  wrongly, on a line that ends in "that it would be seen";
- the names of all mutants that have the id for a source;
- "cannot occur: " and a reason, and then no test and no mutant.

Whatever a test case or a mutant says it is of, and every fault whose file is named after a kind of
known bugs, has a row.
"""

import re
import sys

ROW = re.compile(r"^\| \[([a-z0-9-]+)\]\((https://\S+)\) \| (.+) \| (.+) \|$")
TITLE = re.compile(r"^## .* \((\d+)\)$")
COUNT = re.compile(r"^# .* \((\d+)\)$")
CASE = re.compile(r'^TEST_CASE\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+): ', re.MULTILINE)
FAULT = re.compile(r"^fault ([a-z0-9-]+)", re.MULTILINE)
DONE_WRONGLY = re.compile(r"^ *CHECK_FALSE\(.+\);  // that it would be seen$", re.MULTILINE)
MUTANT = re.compile(r"^mutant (\S+)\n(?:(?!mutant ).*\n)*?source (.+)$", re.MULTILINE)
NAMES = re.compile(r"`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*")
OTHERS = "others.txt"  # faults that nobody had
OWN = "own"  # a mutant's source, that nobody told of
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


def read_cases(paths):
    """id -> the source that has its test case; and ids whose test case has the fault beside it."""
    cases, done_wrongly = {}, set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for begin in CASE.finditer(text):
            cases[begin[1]] = path
            if DONE_WRONGLY.search(text[begin.start() :].split("\nTEST_CASE(")[0]):
                done_wrongly.add(begin[1])
    return cases, done_wrongly


def read_faults(paths):
    """The names of all planted faults, up to a dot; and of those that somebody had."""
    names, had = set(), set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found = FAULT.findall(file.read())
        names.update(found)
        had.update(found if not path.endswith(OTHERS) else [])
    return names, had


def read_mutants(paths):
    """id -> names of the mutants that have it for a source."""
    mutants = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for name, sources in MUTANT.findall(file.read()):
                for source in sources.split(", "):
                    mutants.setdefault(source, set()).add(name)
    mutants.pop(OWN, None)
    return mutants


class Evidence:
    """What says of ids that their faults are seen."""

    def __init__(self, files):
        texts = [path for path in files if path.endswith(".txt")]
        faults = [path for path in texts if "planted_faults" in path]
        self.cases, self.done_wrongly = read_cases([p for p in files if p.endswith(".cc")])
        self.planted, self.had = read_faults(faults)
        self.mutants = read_mutants([path for path in texts if path not in faults])

    def failure(self, name, where):
        """Of the row of an id, or None."""
        if where.startswith(REASON):
            if len(where.split()) < WORDS_OF_A_REASON:
                return f"{name}: expected a reason, got '{where}'"
            if name in self.cases or name in self.mutants or name in self.planted:
                return f"{name}: cannot occur, and is tested or planted"
        elif NAMES.fullmatch(where):
            names = set(where.replace("`", "").split(", "))
            if names != self.mutants.get(name, set()):
                return f"{name}: mutants of it are {sorted(self.mutants.get(name, []))}"
        elif where.strip("`") != self.cases.get(name):
            return f"{name}: {where} has no test case of that name"
        elif name not in self.planted | self.done_wrongly:
            return f"{name}: its test is held against no fault"
        return None

    def cited(self):
        """All ids that somebody says to have."""
        return self.cases.keys() | self.mutants.keys() | self.had


def main(arguments):
    document, *files = arguments
    failures = []
    with open(document, encoding="utf-8") as file:
        rows = read_rows(file.read().splitlines(), failures)
    evidence = Evidence(files)
    of_rows = [evidence.failure(name, where) for name, where in rows.items()]
    failures += [failure for failure in of_rows if failure]
    failures += [f"{name}: is cited, and has no row" for name in evidence.cited() - rows.keys()]
    for failure in failures:
        print(f"FAILED: {document}: {failure}")
    reasons = sum(where.startswith(REASON) for where in rows.values())
    tested = len(evidence.cases.keys() & rows.keys())
    print(
        f"{len(rows)} faults, {tested} with a test, {len(rows) - tested - reasons} with mutants"
        f" alone, {reasons} with a reason; {len(evidence.planted & rows.keys())} planted,"
        f" {len(evidence.done_wrongly)} done wrongly by their tests"
    )
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
