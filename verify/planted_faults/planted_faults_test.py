#!/usr/bin/env python3
"""Each planted fault is found, and without one nothing is.

    planted_faults_test.py [--only SOURCE] PROGRAM FAULTS...

A fault that is named after a test of a known bug (up to a dot) is to be found by that test; of all
others it is said which finder was the first, or with RECTO_FULL=1, which of them find it. Each test
of a known bug has a fault. What ends by a signal, or by the clock, has not been found.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import plant  # noqa: E402

FINDER = "finder: "
KNOWN_BUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+: ")
HANGS_AFTER_SECONDS = 120
HANGS, SIGNAL = "hang", "signal"
SAID = r"contract[^\n]*|(?<=message:\n)[^\n]*|(CHECK|REQUIRE)\S*\([^\n]*"


def names_of(program):
    """The test cases of the program."""
    listed = subprocess.run(
        [program, "--list-test-names-only"], capture_output=True, text=True, check=False
    ).stdout
    return [line.strip() for line in listed.splitlines() if line.strip()]


def run(program, case, fault):
    """None if all is well; else what was found, in one line."""
    environment = {**os.environ, "RECTO_PLANTED": fault}
    environment.pop("TESTBRIDGE_TEST_ONLY", None)
    pattern = case.split(",")[0] + "*"  # commas part patterns
    try:
        done = subprocess.run(
            [program, pattern],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=HANGS_AFTER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{HANGS}, {HANGS_AFTER_SECONDS} s"
    if done.returncode == 0:
        if "All tests passed" not in done.stdout:
            sys.exit(f"'{case}' did not run:\n{done.stdout[-2000:]}")
        return None
    if done.returncode < 0:
        return f"{SIGNAL} {-done.returncode}"
    said = re.search(SAID, done.stdout)
    text = said[0] if said else done.stdout[-100:]
    return " ".join(text.split())[:100]


def failures_of(program, fault, cases, finders):
    """Prints who found a fault; the reasons for which it is not as it should be."""
    own = cases.get(fault.name.split(".")[0])
    found = []
    for case in ([own] if own else []) + finders:
        what = run(program, case, fault.name)
        if what is not None:
            found.append(f"{case.removeprefix(FINDER) if case != own else 'its test'} ({what})")
            if what.startswith((HANGS, SIGNAL)):
                return [f"{fault.name}: '{case}' ends by a {what}, and not by a check"]
        elif case == own:
            return [f"{fault.name} ({fault.text.strip()}) is not found by '{own}'"]
        if found and "RECTO_FULL" not in os.environ:
            break
    print(f"{fault.name}: {'; '.join(found)}", flush=True)
    return [] if found else [f"{fault.name} ({fault.text.strip()}) is found by nobody"]


def main(arguments):
    only = arguments[1] if arguments[0] == "--only" else None
    program, *files = arguments[2:] if only else arguments
    names = names_of(program)
    finders = [name for name in names if name.startswith(FINDER)]
    cases = {name.split(":")[0]: name for name in names if KNOWN_BUG.match(name)}
    faults = plant.read_faults(files)
    if only:
        faults = [f for f in faults if {path for path, _, _ in f.changes} == {only}]
    failures = []
    for case in names:
        what = run(program, case, "")
        if what is not None:
            failures.append(f"without a fault '{case}' says: {what}")
    for fault in faults:
        failures += failures_of(program, fault, cases, finders)
    known = {fault.name.split(".")[0] for fault in faults}
    if not only:
        failures += [f"'{case}' has no fault" for name, case in cases.items() if name not in known]
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{len(faults)} faults, {len(failures)} failures")
    return 1 if failures or not faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
