#!/usr/bin/env python3
"""Tests that recto report and recto plot show only files of one run together.

    one_run_test.py RECTO
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_testing import data_of

PROGRAM = Path(sys.argv[1]).resolve()
STUDY = (
    "fragmentation --requests 120 --allocators contiguous-max,paged --block-sizes 8,16 --out"
).split()
SWEEP = "sweep --requests 60 --allocator paged --block-size 8,16,32 --out".split()


def recto(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


class OneRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.study = Path(cls.scratch.name, "study")
        cls.sweep = Path(cls.scratch.name, "sweep")
        for run in (recto(*STUDY, cls.study), recto(*SWEEP, cls.sweep)):
            assert run.returncode == 0, run.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def refused(self, *arguments):
        run = recto("report", *arguments)
        self.assertEqual(run.returncode, 2, run.stderr)
        return run.stderr

    def notes(self, folder):
        return data_of(folder)["notes"]

    def copy(self, folder, name):
        made = Path(self.scratch.name, name)
        shutil.copytree(folder, made, ignore=shutil.ignore_patterns("report.html"))
        return made

    def change(self, folder, edit):
        """Edits the manifest, which stays one of recto's."""
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        edit(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")

    def test_the_data_of_a_study_must_be_those_of_its_manifest(self):
        other = self.copy(self.study, "other-seed")
        self.change(other, lambda manifest: [one.update(seed=2)
                                             for one in manifest["configurations"]])
        self.assertIn(f"{other}/report.json: does not belong to {other}/manifest",
                      self.refused(other))
        (other / "report.json").unlink()
        self.assertIn("report.json: No such file or directory; expected what "
                      "recto fragmentation --out writes; run it again", self.refused(other))
        self.assertFalse((other / "report.html").exists())

    def test_results_of_another_commit_are_told_on_the_page_and_beside_it(self):
        other = self.copy(self.sweep, "other-commit")
        self.change(other, lambda manifest: manifest["recto"].update(commit="0ldc0mm1t"))
        run = recto("report", other)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("recto: The results come from recto of commit 0ldc0mm1t, this page of",
                      run.stderr)
        told = "its numbers were not computed again"
        self.assertIn(told, run.stderr)
        self.assertIn(told, self.notes(other)[0])
        for folder in (self.study, self.sweep):
            self.assertEqual(recto("report", folder).returncode, 0)
            self.assertEqual(self.notes(folder), [])

    def test_the_files_of_a_sweep_and_of_a_series_must_be_those_of_the_manifest(self):
        for folder, name in ((self.sweep, "sweep.csv"), (self.study, "series.csv")):
            other = self.copy(folder, name + "-edited")
            text = (other / name).read_text("utf-8")
            (other / name).write_text(text.replace("1", "2", 1), "utf-8")
            told = f"{other}/{name}: does not match manifest.json"
            self.assertIn(told, self.refused(other))
            plotted = recto("plot", other, "--out", other / "pictures")
            self.assertEqual(plotted.returncode, 2)
            self.assertIn(told, plotted.stderr)
            self.assertFalse((other / "pictures").exists())
            self.change(other, lambda manifest: manifest.pop("files"))
            self.assertIn("manifest.json, files: found no", self.refused(other))

    def test_each_row_has_the_command_that_writes_its_timeline(self):
        self.assertEqual(recto("report", self.study).returncode, 0)
        rows = data_of(self.study)["rows"]
        self.assertEqual(rows[1]["timeline"], "recto simulate --requests 120 --block-size 8 "
                         "--pool-gib 12 --series-window-s 10 --timeline run.json")
        with (self.study / "fragmentation.csv").open(encoding="utf-8") as file:
            numbers = list(csv.DictReader(file))
        for row, number in zip(rows, numbers, strict=True):
            program, *arguments, file = row["timeline"].split()
            self.assertEqual((program, file), ("recto", "run.json"))
            path = Path(self.scratch.name, file)
            run = recto(*arguments, path)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"{int(number['report.counters.steps']):,} steps", run.stdout)
            path.unlink()

    def test_the_axes_of_a_sweep_must_be_those_of_its_rows(self):
        edits = (
            (lambda axes: axes["block_size"].__setitem__(1, "64"),
             '.block_size[1]: found "64"; expected "16", as sweep.csv has'),
            (lambda axes: axes["block_size"].append("64"),
             '.block_size[3]: found "64"; expected none, as sweep.csv has'),
            (lambda axes: axes["block_size"].pop(),
             '.block_size[2]: found none; expected "32", as'),
            (lambda axes: axes["block_size"].__setitem__(0, 8),
             '.block_size[0]: found 8; expected "8", as'),
            (lambda axes: axes.update(block_size="8"), '.block_size: found "8"; expected an array'),
            (lambda axes: axes.pop("block_size"),
             ": found axes of 1 points; expected 3, as many as sweep.csv has rows"),
        )
        for index, (edit, expected) in enumerate(edits):
            with self.subTest(expected):
                folder = self.copy(self.sweep, f"axes-{index}")
                self.change(folder, lambda manifest: edit(manifest["grid"]["axes"]))
                self.assertIn(f"{folder}/manifest.json, grid.axes{expected}", self.refused(folder))
                self.assertFalse((folder / "report.html").exists())

    def test_what_is_shown_of_a_manifest_has_its_type(self):
        edits = (
            (self.study, "time_models", 3, ": found 3; expected an array"),
            (self.study, "time_models", [3], "[0]: found 3; expected an object"),
            (self.study, "time_models", [{"name": 5}], "[0].name: found 5; expected a text"),
            (self.study, "time_models", [{"name": "a"}], "[0].provenance: found none; expected a"),
            (self.study, "remarks", 3, ": found 3; expected an array"),
            (self.study, "remarks", "x", ': found "x"; expected an array'),
            (self.study, "inputs", 3, ": found 3; expected an array"),
            (self.study, "inputs", [3], "[0]: found 3; expected an object"),
            (self.study, "inputs", [{"path": "t"}], "[0].bytes: found none; expected an integer"),
            (self.study, "configurations", [3], "[0]: found 3; expected an object"),
            (self.study, "seeds", 2, ": found 2; expected 1, as fragmentation.csv has"),
            (self.study, "recto", {"version": 3}, ".version: found 3; expected a text"),
            (self.study, "recto", {"commit": "c"}, ".version: found none; expected a text"),
            (self.sweep, "recto", {"version": "1"}, ".commit: found none; expected a text"),
            (self.sweep, "grid", {"base": {"gpu": 5}}, ".base: gpu: found 5; expected"),
            (self.sweep, "points", -1, ": found -1; expected an integer from 0"),
            (self.sweep, "points", "3", ': found "3"; expected an integer from 0'),
            (self.sweep, "failed_points", 3, ": found 3; expected an array"),
            (self.sweep, "columns", [3], "[0]: found 3; expected a text"),
            (self.sweep, "remarks", [3], "[0]: found 3; expected a text"),
        )
        for index, (made, name, value, expected) in enumerate(edits):
            with self.subTest(f"{name} {value}"):
                folder = self.copy(made, f"typed-{index}")
                self.change(folder, lambda manifest: manifest.update({name: value}))
                told = f"{folder}/manifest.json, {name}{expected}"
                self.assertIn(told, self.refused(folder))
                if name == "seeds":
                    continue  # what recto plot says of it, its own tests tell
                plotted = recto("plot", folder, "--out", folder / "pictures")
                self.assertEqual(plotted.returncode, 2)
                self.assertIn(told, plotted.stderr)

    def test_the_seeds_of_a_sweep_must_be_those_of_its_rows(self):
        made = Path(self.scratch.name, "two-seeds")
        run = recto("sweep", "--requests", 20, "--block-size", "8,16", "--seeds", 2, "--out", made)
        self.assertEqual(run.returncode, 0, run.stderr)
        for index, (of, seeds, rows) in enumerate(((self.sweep, 2, 1), (made, 1, 2), (made, 3, 2))):
            folder = self.copy(of, f"seeds-{index}")
            self.change(folder, lambda manifest: manifest["grid"].update(seeds=seeds))
            self.assertIn(f"{folder}/manifest.json, grid.seeds: found {seeds}; expected {rows}, as "
                          "sweep.csv has", self.refused(folder))

    def test_bytes_behind_a_manifest_are_refused(self):
        folder = self.copy(self.study, "bytes-behind")
        with open(folder / "manifest.json", "ab") as file:
            file.write(b"\0\0and more")
        self.assertIn("manifest.json: found a NUL byte; expected JSON", self.refused(folder))

    def test_a_file_of_another_run_is_refused(self):
        folder = Path(self.scratch.name, "mixed")
        folder.mkdir()
        for name in ("manifest.json", "fragmentation.csv"):
            (folder / name).write_text((self.study / name).read_text("utf-8"), "utf-8")
        with open(folder / "fragmentation.csv", "a", encoding="utf-8") as file:
            file.write("\n")
        self.assertIn("does not match manifest.json", self.refused(folder))
        (folder / "manifest.json").write_text("[]", "utf-8")
        self.assertIn("found no manifest of recto", self.refused(folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
