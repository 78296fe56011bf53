#!/usr/bin/env python3
"""Tests of the errors for a damaged report of `recto simulate --json` and a damaged manifest: the
field, what was found and what was expected, in one line, with exit code 2.

    damaged_reports_test.py RECTO
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import plot, result_files  # noqa: E402

RECTO = os.path.abspath(sys.argv.pop(1))
GONE = object()  # instead of a value: without the field
ANY = "from 0 to 9e+18"

# The path of a field, its new value, and the message.
DAMAGED = (
    ("report.series", GONE, "report.series: found none; expected an object"),
    ("report.series", [], "report.series: found an array; expected an object"),
    ("report.series.used_slots", GONE, "report.series.used_slots: found none; expected an array"),
    ("report.series.used_slots", 3, "report.series.used_slots: found 3; expected an array"),
    ("report.series.tail_slots", [0.0], "report.series.tail_slots: found 1 values; expected 2, as"),
    ("report.series.begin_ns", [0], "report.series.length_ns: found 2 values; expected 1, as"),
    ("report.series.length_ns", [1, 0], "report.series.length_ns[1]: found 0; expected an integer"),
    ("report.series.used_slots", [1, "x"],
     f'report.series.used_slots[1]: found "x"; expected a number {ANY}'),
    ("report.series.free_slots", [-1, 1], f"free_slots[0]: found -1; expected a number {ANY}"),
    ("report.series.waiting_requests", [None, 1], "waiting_requests[0]: found null; expected a"),
    ("report.pool_slots", 0, "report.pool_slots: found 0; expected an integer from 1 to 9e+18"),
    ("report.pool_slots", -5, "report.pool_slots: found -5; expected an integer from 1 to"),
    ("report.pool_slots", 1.5, "report.pool_slots: found 1.5; expected an integer from 1 to"),
    ("report.pool_slots", True, "report.pool_slots: found true; expected an integer from 1 to"),
    ("report.block_size", 0, "report.block_size: found 0; expected an integer from 1 to"),
    ("report.gauges", GONE, "report.gauges: found none; expected an object"),
    ("report.ttft", None, "report.ttft: found null; expected an object"),
    ("report.tpot.p50_ns", GONE, f"report.tpot.p50_ns: found none; expected a number {ANY}"),
    ("report.queueing.mean_ns", float("inf"), "report.queueing.mean_ns: found Infinity; expected"),
    ("report.counters.requests_finished", -1, "requests_finished: found -1; expected an integer"),
    ("report", [], "report: found an array; expected an object"),
    ("figures.mean_shares.used", "x" * 99, f'used: found "{"x" * 39}...; expected a number from'),
    ("figures.mean_shares.used", float("nan"),
     "figures.mean_shares.used: found NaN; expected a number from 0 to 1"),
    ("figures.mean_shares.free", 1.1, "figures.mean_shares.free: found 1.1; expected a number"),
    ("figures.mean_shares.free", 10**400, "figures.mean_shares.free: found 1000"),
    ("settings", [], "settings: found an array; expected an object"),
    ("settings.allocator", 5, "settings.allocator: found 5; expected a name of letters"),
    ("settings.allocator", "$\\x$", 'settings.allocator: found "$\\\\x$"; expected a name of'),
    ("recto.commit", None, "recto.commit: found null; expected a text"),
    ("time_model", {}, "time_model: found an object; expected a text"),
)

# The same of manifests, by the command that wrote them.
DAMAGED_MANIFESTS = {
    "sweep": (
        ("recto.commit", 5, "recto.commit: found 5; expected a text"),
        ("recto.version", GONE, "recto.version: found none; expected a text"),
        ("recto", [], "recto: found []; expected an object"),
        ("grid", 1, "grid: found 1; expected an object"),
        ("grid.base", [], "grid.base: found []; expected an object"),
        ("grid.seeds", "2", 'grid.seeds: found "2"; expected an integer from 1'),
        ("grid.seeds", 2, "grid.seeds: found 2; expected 1, as sweep.csv has"),
        ("grid.axes", ["block_size"], "grid.axes: expected an object"),
        ("grid.axes.block_size", "8", 'grid.axes.block_size: found "8"; expected an array'),
        ("grid.axes.block_size", [8, 16],
         'grid.axes.block_size[0]: found 8; expected "8", as sweep.csv has'),
        ("grid.axes.block_size", ["8", "32"],
         'grid.axes.block_size[1]: found "32"; expected "16", as sweep.csv has'),
        ("grid.axes.block_size", ["8", "16", "32"],
         'grid.axes.block_size[2]: found "32"; expected none, as sweep.csv has'),
        ("grid.axes.block_size", GONE,
         "grid.axes: found axes of 2 points; expected 4, as many as sweep.csv has rows"),
        ("command", ["sweep"], "nothing to draw; expected what"),
    ),
    "fragmentation": (
        ("recto.commit", None, "recto.commit: found null; expected a text"),
        ("seeds", 0, "seeds: found 0; expected an integer from 1"),
        ("seeds", 2, "seeds: found 2; expected 1, as fragmentation.csv has"),
        ("time_models", [1], "time_models[0]: found 1; expected an object"),
        ("configurations", {}, "configurations: found {}; expected an array"),
        ("configurations", [1], "configurations[0]: found 1; expected an object"),
    ),
}
WRITERS = {
    "sweep": ("--block-size", "8,16", "--allocator", "paged,prefix-cached"),
    "fragmentation": ("--block-sizes", "16", "--allocators", "paged"),
}

# Extreme values that figures accept.
SOUND = (
    ("report.pool_slots", 1),
    ("figures.mean_shares.free", 1 + 1e-12),
    ("figures.mean_shares.free", 0),
    ("report.series.length_ns", [1, 1]),
    ("report.notes_ci95", "read by no figure"),
)


def small_report():
    done = subprocess.run([RECTO, "simulate", "--requests", "5", "--json"], capture_output=True,
                          text=True, check=True)
    report = json.loads(done.stdout)
    series = report["report"]["series"]
    for name in series:
        series[name] = series[name][:2]
    return report


def changed(text, field, value):
    """The JSON with one field changed."""
    document = json.loads(text)
    *parents, name = field.split(".")
    parent = document
    for one in parents:
        parent = parent[one]
    parent[name] = value
    if value is GONE:
        del parent[name]
    return json.dumps(document)


def drawn(folder, out):
    """Exit code, the stems of the pictures, and the errors."""
    printed, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
        code = plot.main([str(folder), "--out", str(out)])
    return code, {Path(line).stem for line in printed.getvalue().split()}, complaint.getvalue()


def drawn_by_the_command(folder, out):
    done = subprocess.run([RECTO, "plot", folder, "--out", out], capture_output=True, text=True)
    return done.returncode, {Path(line).stem for line in done.stdout.split()}, done.stderr


class DamagedManifests(unittest.TestCase):
    def test_the_field_is_named_with_what_was_found_and_expected(self):
        for command, damaged in DAMAGED_MANIFESTS.items():
            with tempfile.TemporaryDirectory() as scratch:
                folder, out = Path(scratch) / "results", Path(scratch) / "pictures"
                subprocess.run([RECTO, command, "--requests", "20", *WRITERS[command], "--out",
                                folder], capture_output=True, check=True)
                manifest = folder / "manifest.json"
                text = manifest.read_text()
                for field, value, expected in damaged:
                    with self.subTest(f"{command}: {expected}"):
                        manifest.write_text(changed(text, field, value))
                        code, printed, complaint = drawn_by_the_command(folder, out)
                        self.assertEqual((code, printed), (2, set()))
                        self.assertIn(expected, complaint)
                        self.assertIn(str(folder), complaint)
                        self.assertEqual(complaint.count("\n"), 1)
                        self.assertFalse(out.exists())
                manifest.write_text(text)
                self.assertEqual(drawn_by_the_command(folder, out)[0], 0)


class DamagedReports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = json.dumps(small_report())

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.report = self.folder / "x.json"
        self.out = self.folder / "pictures"

    def write(self, field, value):
        self.report.write_text(changed(self.text, field, value))

    def draw(self):
        return drawn(self.folder, self.out)

    def test_the_field_is_named_with_what_was_found_and_expected(self):
        for field, value, expected in DAMAGED:
            with self.subTest(expected):
                self.write(field, value)
                code, printed, complaint = self.draw()
                self.assertEqual((code, printed), (2, set()))
                self.assertTrue(complaint.startswith(f"recto: {self.report}, "), complaint)
                self.assertIn(expected, complaint)
                self.assertEqual(complaint.count("\n"), 1)
                self.assertFalse(self.out.exists())

    def test_what_is_sound_is_read(self):
        for field, value in SOUND:
            with self.subTest(field):
                self.write(field, value)
                _, run = result_files.read_simulation(self.report)
                self.assertEqual((len(run.series["begin_s"]), run.is_mean), (2, False))
                self.assertFalse([name for name in run.metrics if name.endswith("_ci95")])

    def test_a_name_with_dollars_is_no_formula(self):
        self.write("settings.trace", "$\\x$.csv")
        code, printed, complaint = self.draw()
        self.assertEqual((code, len(printed), complaint), (0, 5, ""))

    def test_no_number_is_too_long_and_no_object_too_deep_to_be_told(self):
        for text in ('{"a": ' + "1" * 5000 + "}", '{"a": ' * 100000):
            self.report.write_text(text)
            code, _, complaint = self.draw()
            self.assertEqual((code, complaint.count("\n")), (2, 1))
            self.assertIn(f"{self.report}: cannot be read: ", complaint)

    def test_a_file_that_is_no_report_is_left_out_with_its_reason(self):
        self.report.write_text(self.text)
        for field in ("figures", "settings"):
            other = json.loads(self.text)
            del other[field]
            path = self.folder / "other.json"
            path.write_text(json.dumps(other))
            code, printed, complaint = self.draw()
            self.assertEqual(code, 0)
            self.assertEqual({name[:2] for name in printed}, {"x_"})
            self.assertEqual(complaint, f"recto: {path} is left out: has no {field}; expected what "
                             "recto simulate --json writes of one seed\n")
        self.report.unlink()
        code, _, complaint = self.draw()
        self.assertEqual(code, 2)
        self.assertIn("nothing to draw", complaint)


if __name__ == "__main__":
    unittest.main()
