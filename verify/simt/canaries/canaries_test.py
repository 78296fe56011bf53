#!/usr/bin/env python3
"""Runs every canary in every mode, prints which mode reports it, and compares with the document.

    canaries_test.py DOCUMENT MESSAGES MODE=PROGRAM ...

A kernel without its fault must report nothing in any mode. Messages of the executor, its checks and
the shadow memory must equal MESSAGES; of a sanitizer's report, the headline and the thread must. A
mode whose compiler is missing is reported as skipped, and its column is not compared.
"""

import concurrent.futures
import difflib
import itertools
import re
import subprocess
import sys
from pathlib import Path

# (pattern of a line in a report, its name in the table; None: the matched group).
REPORTS = [
    (r"^AddressSanitizer:DEADLYSIGNAL", "fault"),
    (r"ERROR: AddressSanitizer: ([a-z-]+)", None),
    (r"runtime error: (reference binding to misaligned|load of misaligned)", "misaligned"),
    (r"runtime error: load of null pointer", "null pointer"),
    (r"runtime error: index \d+ out of bounds", "out of bounds"),
    (r"runtime error: load of address .* insufficient space", "out of bounds"),
    (r"runtime error: (.*)", None),
    (r"WARNING: MemorySanitizer", "taint"),
    (r"^wrong outputs", "(wrong result)"),
    (r"^schedule dependence", "schedule"),
    (r"^([a-z -]+?) in (kernel|the host program)", None),
]
SILENT = "-"
# The parts of a sanitizer's report to compare: the error, without columns and addresses, and the
# thread.
HEADLINES = [
    r"(ERROR: AddressSanitizer: [a-zA-Z-]+|AddressSanitizer:DEADLYSIGNAL)",
    r"^(\S+:\d+):\d+(: runtime error: [^,0-9]*)",
    r"(WARNING: MemorySanitizer: [a-z-]+)",
    r"^([a-z -]*in (?:kernel|the host program).*)",
    r"^(wrong outputs)",
]


def name_of(output):
    """The kinds of findings reported; a wrong result only if there is no other kind."""
    kinds = []
    for line in output.splitlines():
        for pattern, kind in REPORTS:
            match = re.search(pattern, line)
            if match:
                kinds.append(kind or match.group(1))
                break
    better = [kind for kind in kinds if kind != "(wrong result)"]
    return ", ".join(sorted(set(better or kinds))) or SILENT


def run(program, canary, which):
    """(the outcome's name in the table, the output)."""
    result = subprocess.run(
        [program, canary, which], capture_output=True, text=True, timeout=300, check=False
    )
    output = result.stdout + result.stderr
    if result.returncode != 0 and name_of(output) == SILENT:
        return f"ended with {result.returncode}: {output[:300]}", output
    return name_of(output), output


def list_canaries(program):
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [tuple(line.split("|")) for line in listed.splitlines()]


def skip_reason(program):
    listed = subprocess.run([program], capture_output=True, text=True, check=False).stdout
    return listed if listed.startswith("SKIPPED:") else None


def table_of(canaries, modes, seen):
    rows = [["canary", "fault"] + modes]
    rows += [
        [f"`{name}`", fault] + [seen[name, mode] for mode in modes] for name, fault in canaries
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def compare_with(readme, canaries, modes, seen):
    """Yields the differences between the document's table and the outcomes."""
    lines = Path(readme).read_text(encoding="utf-8").splitlines()
    header = next((cells(line) for line in lines if line.startswith("| canary")), None)
    if header is None:
        yield "the document has no table"
        return
    from_table = itertools.dropwhile(lambda line: not line.startswith("| canary"), lines)
    table = itertools.takewhile(lambda line: line.startswith("|"), from_table)
    rows = {cells(line)[0].strip("`"): cells(line) for line in table if line.startswith("| `")}
    for name in sorted(rows.keys() - {name for name, _ in canaries}):
        yield f"{name}: the document has a row, and there is no such canary"
    for name, fault in canaries:
        row = rows.get(name)
        if row and all(stated == SILENT for stated in row[2:]):  # the modes of other runs, too
            yield f"{name} ({fault}) is seen by no mode"
        for mode in modes:
            stated = row[header.index(mode)] if row and mode in header else "nothing"
            if stated != seen[name, mode]:
                yield f"{name}, {mode}: seen '{seen[name, mode]}', the document says '{stated}'"


def headlines(text):
    for line in text.splitlines():
        match = next(filter(None, (re.search(headline, line) for headline in HEADLINES)), None)
        if match:
            yield "".join(match.groups()).rstrip()


def messages_of(canaries, modes, outputs):
    """The messages, without addresses, which differ from run to run."""
    lines = []
    for mode in modes:
        for name, _ in canaries:
            text = re.sub(r"0x[0-9a-f]{9,}", "0x...", outputs[name, mode, "wrong"])
            is_whole = "Sanitizer" not in text and "runtime error" not in text
            said = text.splitlines() if is_whole else headlines(text)
            lines += [f"{name}, {mode}:", *dict.fromkeys(said)]
    return lines


def messages_in(path, modes):
    """The file's messages for the available modes."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    is_wanted = False
    for line in lines:
        heading = re.fullmatch(r"\w+, (\w+):", line)
        is_wanted = heading.group(1) in modes if heading else is_wanted
        if is_wanted:
            yield line


def difference_of_messages(path, modes, seen):
    """A patch for the file, to be applied if the new messages are right."""
    expected = list(messages_in(path, modes))
    return "\n".join(difflib.unified_diff(expected, seen, path, path, lineterm="", n=1))


def programs_of(arguments):
    """{mode: program}; None if the arguments are invalid."""
    readme_and_messages, pairs = arguments[:2], arguments[2:]
    are_there = all(Path(file).is_file() for file in readme_and_messages)
    if not pairs or not are_there or not all("=" in pair for pair in pairs):
        return None
    return dict(pair.split("=", 1) for pair in pairs)


def main(*arguments):
    programs = programs_of(arguments)
    if programs is None:
        print("usage: canaries_test.py DOCUMENT MESSAGES MODE=PROGRAM ...", file=sys.stderr)
        return 2
    readme, messages = arguments[:2]
    for mode, program in list(programs.items()):
        reason = skip_reason(program)
        if reason:
            print(f"{reason.strip()} (mode {mode})")
            del programs[mode]
    modes = list(programs)
    canaries = list_canaries(programs[modes[0]])
    kinds = ("right", "wrong")
    jobs = [(name, mode, which) for name, _ in canaries for mode in modes for which in kinds]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda job: run(programs[job[1]], job[0], job[2]), jobs))
    outputs = {job: output for job, (_, output) in zip(jobs, outcomes)}
    seen = {}
    failures = []
    for (name, mode, which), (outcome, _) in zip(jobs, outcomes):
        if which == "wrong":
            seen[name, mode] = outcome
        elif outcome != SILENT:
            failures.append(f"{name} without its fault, {mode}: {outcome}")
    print(table_of(canaries, modes, seen))
    failures += compare_with(readme, canaries, modes, seen)
    difference = difference_of_messages(messages, modes, messages_of(canaries, modes, outputs))
    if difference:
        failures.append(f"messages are others:\n{difference}")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
