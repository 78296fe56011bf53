#!/usr/bin/env python3
"""docs/known-bugs.md and the tests that are named after its ids say the same.

    known_bugs_test.py DOCUMENT TEST_SOURCES...

Each row of a table has a source, in which a test case's name begins with the id, or in its place
"cannot occur: " and a reason. Each test case of these sources that is named after an id has a row,
and each section as many rows as its title says.
"""

import re
import sys

ROW = re.compile(r"^\| \[([a-z0-9-]+)\]\((https://\S+)\) \| (.+) \| (.+) \|$")
TITLE = re.compile(r"^## .* \((\d+)\)$")
CASE = re.compile(r'^TEST_CASE\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+): ', re.MULTILINE)
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
    """id -> the source that has its test case."""
    cases = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for name in CASE.findall(file.read()):
                cases[name] = path
    return cases


def main(arguments):
    document, *sources = arguments
    failures = []
    with open(document, encoding="utf-8") as file:
        rows = read_rows(file.read().splitlines(), failures)
    cases = read_cases(sources)
    for name, where in rows.items():
        if where.startswith(REASON):
            if len(where.split()) < WORDS_OF_A_REASON or name in cases:
                failures.append(f"{name}: expected a reason, or a test, got '{where}'")
        elif where.strip("`") != cases.get(name):
            failures.append(f"{name}: {where} has no test case of that name")
    failures += [f"{name}: tested, and has no row" for name in cases if name not in rows]
    for failure in failures:
        print(f"FAILED: {document}: {failure}")
    reasons = sum(where.startswith(REASON) for where in rows.values())
    print(f"{len(rows)} faults, {len(rows) - reasons} with a test, {reasons} with a reason")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
