"""Says how a `bazel test` went, from its build events.

    summarise_tests.py EVENTS STATUS

EVENTS is what --build_event_json_file wrote, STATUS is Bazel's exit status. Prints every line of a
log that starts with "SKIPPED:", then the end of each failed test's log, and last "N passed, N
failed", with ", N skipped" if any. Exits with 0 only if everything was built and passed.
"""

import json
import sys
import urllib.parse
from pathlib import Path

LOG_TAIL_LINES = 60


def read_events(path):
    """Yields the events; a truncated file (Bazel was killed) yields its complete events."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                return


def log_path(uri):
    return Path(urllib.parse.unquote(urllib.parse.urlparse(uri).path))


def collect(events):
    """Returns {label: overall status} and {label: log paths} of the tests."""
    statuses, logs = {}, {}
    for event in events:
        identity = event.get("id", {})
        if "targetConfigured" in identity and event.get("configured", {}).get("testSize"):
            # Unchanged if the test never runs because it or a dependency was not built.
            statuses.setdefault(identity["targetConfigured"]["label"], "NOT BUILT")
        elif "testSummary" in event:
            statuses[identity["testSummary"]["label"]] = event["testSummary"]["overallStatus"]
        elif "testResult" in event:
            label = identity["testResult"]["label"]
            for output in event["testResult"].get("testActionOutput", []):
                if output["name"] == "test.log" and "uri" in output:
                    logs.setdefault(label, []).append(log_path(output["uri"]))
    return statuses, logs


def read_lines(paths):
    lines = []
    for path in paths:
        if path.is_file():
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines


def main(events_path, bazel_status):
    statuses, logs = collect(read_events(events_path))
    passed = failed = skipped = 0
    failures = []  # printed last, where readers of a long output look
    for label, status in sorted(statuses.items()):
        lines = read_lines(logs.get(label, []))
        for line in lines:
            if line.startswith("SKIPPED:"):
                print(f"{label}: {line}")
                skipped += 1
        if status in ("PASSED", "FLAKY"):
            passed += 1
        else:
            failed += 1
            failures.append(f"{label}: {status}")
            failures += [f"    {line}" for line in lines[-LOG_TAIL_LINES:]]
    print(*failures, sep="\n", end="\n" * bool(failures))
    if bazel_status != 0 and failed == 0:
        # A target that is not a test was not built.
        print(f"the build failed (Bazel's exit status is {bazel_status}, see above)")
        failed = 1
    if not statuses:
        print("no test was run")
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
