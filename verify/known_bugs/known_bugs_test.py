#!/usr/bin/env python3
"""docs/known-bugs.md, the tests that are named after its ids and the planted faults say the same.

    known_bugs_test.py DOCUMENT TEST_SOURCES_AND_FAULTS...

Each row of a table has a source, in which a test case's name begins with the id, or in its place
"cannot occur: " and a reason. Each test case of these sources that is named after an id has a row,
and each section as many rows as its title says. Each row with a test has a fault that its test is
held against: one of FAULTS (files of verify/planted_faults/plant.py, *.txt) whose name is the id,
up to a dot; or else its test case does the same wrongly, on a line that ends in "that it would be
seen".
"""

import re
import sys

ROW = re.compile(r"^\| \[([a-z0-9-]+)\]\((https://\S+)\) \| (.+) \| (.+) \|$")
TITLE = re.compile(r"^## .* \((\d+)\)$")
CASE = re.compile(r'^TEST_CASE\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+): ', re.MULTILINE)
FAULT = re.compile(r"^fault ([a-z0-9-]+)", re.MULTILINE)
DONE_WRONGLY = re.compile(r"^ *CHECK_FALSE\(.+\);  // that it would be seen$", re.MULTILINE)
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
            failures.append(f"'{line}' is no row of an id, a link, a text and a test")
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
    """The names of all planted faults, up to a dot."""
    names = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            names.update(FAULT.findall(file.read()))
    return names


def main(arguments):
    document, *files = arguments
    failures = []
    with open(document, encoding="utf-8") as file:
        rows = read_rows(file.read().splitlines(), failures)
    cases, done_wrongly = read_cases([path for path in files if path.endswith(".cc")])
    planted = read_faults([path for path in files if path.endswith(".txt")])
    for name, where in rows.items():
        if where.startswith(REASON):
            if len(where.split()) < WORDS_OF_A_REASON or name in cases:
                failures.append(f"{name}: expected a reason, or a test, got '{where}'")
        elif where.strip("`") != cases.get(name):
            failures.append(f"{name}: {where} has no test case of that name")
        elif name not in planted | done_wrongly:
            failures.append(f"{name}: its test is held against no fault")
    failures += [f"{name}: tested, and has no row" for name in cases if name not in rows]
    for failure in failures:
        print(f"FAILED: {document}: {failure}")
    reasons = sum(where.startswith(REASON) for where in rows.values())
    print(
        f"{len(rows)} faults, {len(rows) - reasons} with a test, {reasons} with a reason; "
        f"{len(planted & rows.keys())} planted, {len(done_wrongly)} done wrongly by their tests"
    )
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
