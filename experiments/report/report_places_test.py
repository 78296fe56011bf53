#!/usr/bin/env python3
"""Where pages of recto report are written, and what they never replace.

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
