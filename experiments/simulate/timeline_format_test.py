#!/usr/bin/env python3
"""Checks timelines by the rules of Chrome's trace event format that Perfetto's importer requires.

    timeline_format_test.py RECTO

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU has the rules.
"""

import collections
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
RUNS = {
    "a plain run": "--requests 200",
    "a small pool": "--requests 200 --pool-slots 4096 --allocator paged",
    "contiguous regions": "--requests 200 --allocator contiguous-max",
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def faults_of(event):
    """Rules that one event breaks."""
    wanted = {"X": ("name", "ts", "dur", "pid", "tid"), "C": ("name", "ts", "pid", "args"),
              "i": ("name", "ts", "pid", "tid", "s"), "M": ("name", "pid", "args")}
    phase = event.get("ph")
    if phase not in wanted:
        return [f"phase {phase}"]
    faults = [f"no {name}" for name in wanted[phase] if name not in event]
    faults += [f"{name} {event[name]!r}" for name in ("ts", "dur")
               if name in event and not (is_number(event[name]) and event[name] >= 0)]
    faults += [f"{name} {event[name]!r}" for name in ("pid", "tid")
               if name in event and type(event[name]) is not int]
    if phase == "C" and not all(map(is_number, event.get("args", {"": None}).values())):
        faults.append("counter of no numbers")
    if phase == "M" and not isinstance(event.get("args", {}).get("name"), str):
        faults.append("metadata without a name")
    return faults


def overlaps(events):
    """Pairs of slices of one track that overlap without one within the other: they get lost."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            tracks[event["pid"], event["tid"]].append((begin, -round(event["dur"] * 1000)))
    found = []
    for track, slices in tracks.items():
        open_ends = []
        for begin, minus_length in sorted(slices):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends and begin - minus_length > open_ends[-1]:
                found.append((track, begin))
            open_ends.append(begin - minus_length)
    return found


class TimelineFormat(unittest.TestCase):
    def test_every_event_keeps_the_rules(self):
        for name, flags in RUNS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "run.json")
                subprocess.run([PROGRAM, "simulate", *flags.split(), "--timeline", path],
                               check=True, capture_output=True)
                trace = json.loads(path.read_text("utf-8"))
                events = trace["traceEvents"]
                self.assertIn(trace["displayTimeUnit"], ("ms", "ns"))
                self.assertGreater(sum(event["ph"] == "X" for event in events), 200)
                self.assertEqual([(i, faults_of(event)) for i, event in enumerate(events)
                                  if faults_of(event)], [])
                self.assertEqual(overlaps(events), [])
                named = {event["pid"] for event in events if event["ph"] == "M"}
                self.assertLessEqual({event["pid"] for event in events}, named)

    def test_what_breaks_a_rule_is_seen(self):
        good = {"ph": "X", "name": "a", "ts": 0, "dur": 5, "pid": 1, "tid": 1}
        self.assertEqual(faults_of(good), [])
        for fault in ({"ph": "?"}, {"ts": "0"}, {"dur": -1}, {"pid": None}):
            self.assertEqual(len(faults_of(good | fault)), 1, fault)
        self.assertEqual(faults_of({"ph": "C", "name": "a", "ts": 0, "pid": 1, "args": {"x": ""}}),
                         ["counter of no numbers"])
        self.assertEqual(overlaps([good, good | {"ts": 1, "dur": 2}, good | {"ts": 5}]), [])
        self.assertEqual(overlaps([good, good | {"ts": 3}]), [((1, 1), 3000)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
