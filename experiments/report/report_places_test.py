#!/usr/bin/env python3
"""Tests of where pages and results are written, and which files they never replace.

    report_places_test.py RECTO
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
STUDY = "fragmentation --requests 20 --allocators paged --block-sizes 16 --out".split()
SWEEP = "sweep --requests 20 --allocator paged --block-size 8,16 --out".split()


def recto(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


class Places(unittest.TestCase):
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
        run = recto(*arguments)
        self.assertEqual(run.returncode, 2, run.stderr)
        return run.stderr

    def test_a_page_is_written_over_a_page_and_over_nothing_else(self):
        for folder, names in ((self.study, ("manifest.json", "fragmentation.csv", "series.csv")),
                              (self.sweep, ("manifest.json", "sweep.csv", "sweep.journal.jsonl"))):
            for path in (folder / name for name in names):
                before = path.read_bytes()
                self.assertIn(f"--html: {path}: is a file already, and not a page of recto report",
                              self.refused("report", folder, "--html", path))
                self.assertEqual(path.read_bytes(), before)
        page = Path(self.scratch.name, "twice.html")
        for _ in range(2):
            self.assertEqual(recto("report", self.sweep, "--html", page).returncode, 0)

    def test_a_foreign_page_in_the_folder_stays(self):
        folder = Path(self.scratch.name, "foreign-page")
        folder.mkdir()
        (folder / "report.html").write_text("<p>mine</p>")
        for command in ("sweep --requests 5 --block-size 8 --out",
                        "fragmentation --requests 5 --allocators paged --out"):
            self.assertIn("--report: ", self.refused(*command.split(), folder, "--report"))
            self.assertEqual(os.listdir(folder), ["report.html"])
        self.assertEqual(recto(*"sweep --requests 5 --block-size 8 --out".split(),
                               folder).returncode, 0)
        self.assertEqual((folder / "report.html").read_text(), "<p>mine</p>")

    def test_foreign_data_in_the_folder_stay(self):
        folder = Path(self.scratch.name, "foreign-data")
        small = (*"sweep --requests 5 --block-size 8,16 --out".split(), folder)
        self.assertEqual(recto(*small).returncode, 0)
        (folder / "report.json").write_text("{}")
        for command, flag in ((("report", folder), ""), ((*small, "--report"), "--report: ")):
            self.assertIn(f"recto: {flag}{folder}/report.json: is a file already, and not the data",
                          self.refused(*command))
        self.assertFalse((folder / "report.html").exists())
        self.assertEqual(recto(*small).returncode, 0)
        self.assertEqual((folder / "report.json").read_text(), "{}")
        alone = Path(self.scratch.name, "data-alone")
        alone.mkdir()
        (alone / "report.json").write_text("{}")
        self.assertIn(f"recto: --out: {alone}/report.json: is a file already, and not the data",
                      self.refused("fragmentation", "--requests", 5, "--out", alone))

    def test_results_do_not_take_the_place_of_another_commands(self):
        small = ("--requests", 5, "--block-size", "8,16", "--out")
        for command in (["sweep", *small], ["sweep", "--fresh", *small],
                        ["numerics", "--n", 16, "--draws", 1, "--out"]):
            run = recto(*command, self.study)
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertIn(f"--out: {self.study}: holds results of recto fragmentation; expected a "
                          f"new folder, or one of recto {command[0]}", run.stderr)
        run = recto("fragmentation", "--requests", 5, "--out", self.sweep)
        self.assertEqual(run.returncode, 2)
        self.assertIn("holds results of recto sweep", run.stderr)
        foreign = Path(self.scratch.name, "foreign")
        foreign.mkdir()
        (foreign / "manifest.json").write_text('{"name": "an extension"}')
        run = recto("fragmentation", "--requests", 5, "--out", foreign)
        self.assertEqual(run.returncode, 2)
        self.assertIn("manifest.json: found no manifest of recto", run.stderr)
        self.assertEqual(os.listdir(foreign), ["manifest.json"])

    def test_a_page_of_an_earlier_run_does_not_stay_beside_new_files(self):
        folder = Path(self.scratch.name, "again")
        sweep = "sweep --requests 5 --block-size 8,16 --out".split()
        study = "fragmentation --requests 5 --allocators paged --out".split()
        for command in (sweep, study):
            place = folder / command[0]
            self.assertEqual(recto(*command, place, "--report").returncode, 0)
            self.assertTrue((place / "report.html").exists())
            again = recto(*command, place)
            self.assertIn(f"Removed {place}/report.html, which belonged to an earlier run",
                          again.stdout)
            self.assertFalse((place / "report.html").exists())
            # The data of a study's figures are those of the new run.
            self.assertEqual((place / "report.json").exists(), command is study)
            self.assertNotIn("Removed", recto(*command, place).stdout)

    def test_a_folder_that_cannot_be_made_is_bad_input(self):
        file = Path(self.scratch.name, "a_file")
        file.write_text("")
        for command in (["sweep", "--requests", 5], ["fragmentation", "--requests", 5],
                        ["numerics", "--n", 16, "--draws", 1]):
            for place in (file, file / "below"):
                run = recto(*command, "--out", place)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f"--out: {place}: cannot make this folder: Not a directory",
                              run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
