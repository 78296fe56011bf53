#!/usr/bin/env python3
"""Tests of the errors of `recto plot` for page data that are damaged or of another study than their
folder's: one line, with exit code 2.

    damaged_data_test.py RECTO
"""

import contextlib
import copy
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import map_picture  # noqa: E402

RECTO = os.path.abspath(sys.argv.pop(1))
GONE = object()  # instead of a value: without the field
MAP = "data.maps.0.map"

# The path of a field, and its new value.
DAMAGED = (
    ("data.kind", "sweep"),
    ("data.rows", {}),
    ("data.rows.1.label", "paged 8"),
    ("data.rows.0.metrics", GONE),
    ("data.rows.0.metrics.kernel_s", -1),
    ("data.quantiles_per_mille", ["x"]),
    ("data.latency", []),
    ("data.latency.1.ttft", [1]),
    ("data.latency.1.ttft", GONE),
    (f"{MAP}.close_look.begin_us", "soon"),
    ("data.maps.1.row", 2),
    (f"{MAP}.pool_slots", 0),
    (f"{MAP}.pool_slots", 10**7),
    ("data.maps.1.map.block_size", 10**6),
    (f"{MAP}.null_blocks", 1),
    (f"{MAP}.block_size", None),
    (f"{MAP}.end_us", -4),
    (f"{MAP}.end_us", 1),
    (f"{MAP}.overview.cells", "AAAA"),
    (f"{MAP}.overview.cells", "A"),
    (f"{MAP}.overview.at_us", "gA=="),
    (f"{MAP}.overview.at_us", "AA=="),
    (f"{MAP}.overview.copied", GONE),
    (f"{MAP}.detail.begin_us", -1),
    (f"{MAP}.detail.stays", []),
    (f"{MAP}.detail.segments.size", "AA=="),
    ("data_xxh3_128", GONE),
    ("manifest_xxh3_128", "0"),
    ("data", GONE),
)


def changed(document, field, value):
    document = copy.deepcopy(document)
    *parents, name = [int(one) if one.isdigit() else one for one in field.split(".")]
    parent = document
    for one in parents:
        parent = parent[one]
    parent[name] = value
    if value is GONE:
        del parent[name]
    return document


def map_picture_of(page, target):
    complaint = io.StringIO()
    with contextlib.redirect_stderr(complaint):
        return map_picture.main(str(page), str(target)), complaint.getvalue()


def study(folder, *flags):
    subprocess.run([RECTO, "fragmentation", "--requests", "60", "--block-sizes", "16", *flags,
                    "--report", "--out", folder], capture_output=True, check=True)


class DamagedData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.out = Path(made.name) / "pictures"
        cls.folder = Path(made.name) / "results"
        study(cls.folder, "--allocators", "contiguous-max,paged")
        cls.file = cls.folder / "report.json"
        cls.text = cls.file.read_text()
        # Numbers as they are written, which are not always the shortest.
        cls.document = json.loads(cls.text, parse_float=lambda number: f"@{number}@")

    def setUp(self):
        self.file.write_text(self.text)

    def write(self, document):
        """JSON text in recto's form."""
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        text = re.sub(r'"@([^"]*)@"', r"\1", text)
        self.file.write_text(text)
        return text

    def refused(self):
        done = subprocess.run([RECTO, "plot", self.folder, "--out", self.out], capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr, f"recto: {self.file}: does not belong to "
                         f"{self.folder}/manifest.json; expected both from one run, or no "
                         "report.json\n")
        self.assertFalse(self.out.exists())

    def test_no_change_of_any_field_is_drawn(self):
        self.assertEqual(self.write(self.document), self.text)
        for field, value in DAMAGED:
            with self.subTest(field):
                self.write(changed(self.document, field, value))
                self.refused()
        self.file.write_text(self.text + "\n")
        self.refused()
        self.file.write_text(self.text)
        done = subprocess.run([RECTO, "plot", self.folder, "--out", self.out], capture_output=True,
                              text=True)
        self.addCleanup(shutil.rmtree, self.out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("memory_map.svg", done.stdout)

    def test_the_data_of_another_study_are_refused(self):
        for flags in (("--seed", "2", "--allocators", "contiguous-max,paged"),
                      ("--pool-slots", "4000", "--allocators", "contiguous-max,paged"),
                      ("--allocators", "paged")):
            with self.subTest(flags), tempfile.TemporaryDirectory() as other:
                study(other, *flags)
                shutil.copy(f"{other}/report.json", self.file)
                self.refused()
        manifest = self.folder / "manifest.json"
        before = manifest.read_text()
        self.addCleanup(manifest.write_text, before)
        manifest.write_text(before.replace('"commit": "', '"commit": "0'))
        self.refused()

    def test_the_picture_of_two_maps_needs_both(self):
        target = self.folder.parent / "maps.svg"
        for document, expected in (
            (changed(self.document, "data.rows.1.label", "paged 8"),
             "maps: found none of paged 16; expected contiguous-max and paged 16"),
            (changed(self.document, "data.maps", GONE), "maps: found none of contiguous-max"),
            (changed(self.document, "data", GONE), "expected the data of a study"),
            (self.document, "maps: found no 60 s from "),
        ):
            self.write(document)
            code, complaint = map_picture_of(self.file, target)
            self.assertEqual(code, 2)
            self.assertIn(str(self.file), complaint)
            self.assertIn(expected, complaint)
            self.assertFalse(target.exists())


if __name__ == "__main__":
    unittest.main()
