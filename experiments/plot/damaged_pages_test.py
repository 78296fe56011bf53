#!/usr/bin/env python3
"""Tests of what is said of a page of `recto report` that is damaged, or of another study than that
of its folder: which field, what was found and what was expected, in one line, with exit code 2.

    damaged_pages_test.py RECTO
"""

import contextlib
import copy
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments/plot")
import map_picture  # noqa: E402
import plot  # noqa: E402
from page_map import page_parts  # noqa: E402

RECTO = os.path.abspath(sys.argv.pop(1))
GONE = object()  # instead of a value: without the field
MAP = "maps.0.map"

# The path of a field, what it becomes, and what is said.
DAMAGED = (
    ("kind", "sweep", 'kind: found "sweep"; expected "fragmentation", the page of a study'),
    ("rows", {}, "rows: found an object; expected an array"),
    ("rows.1.label", "paged 8", 'rows[1].label: found "paged 8"; expected "paged 16", as'),
    ("rows.0.metrics", GONE, "rows[0], metrics: found none; expected an object"),
    ("rows.0.metrics.kernel_s", -1, "rows[0], metrics.kernel_s: found -1; expected a number"),
    ("quantiles_per_mille", ["x"], 'quantiles_per_mille[0]: found "x"; expected a number'),
    ("latency", [], "latency: found 0 values; expected 2, as many as rows has"),
    ("latency.1.ttft", [1], "latency[1], ttft: found 1 values; expected none, or"),
    ("latency.1.ttft", GONE, "latency[1], ttft: found none; expected an array"),
    ("close_look_us", "soon", 'close_look_us: found "soon"; expected an integer'),
    ("maps.1.row", 2, "maps[1], row: found 2; expected one of 2 rows"),
    (f"{MAP}.pool_slots", 0, "maps[0].map, pool_slots: found 0; expected an integer from 1"),
    (f"{MAP}.pool_slots", 10**7, "maps[0].map.pool_slots: found 10000000; expected"),
    ("maps.1.map.block_size", 10**6, "maps[1].map, blocks: found"),
    (f"{MAP}.null_blocks", 1, "maps[0].map, null_blocks: found 1; expected at most 0"),
    (f"{MAP}.block_size", None, "block_size: found null; expected an integer from 1"),
    (f"{MAP}.end_us", -4, "maps[0].map, end_us: found -4; expected an integer from 1"),
    (f"{MAP}.end_us", 1, "maps[0].map, detail.end_us: found"),
    (f"{MAP}.overview.cells", "AAAA", "overview.cells: found 3 bytes; expected"),
    (f"{MAP}.overview.cells", "A", 'overview.cells: found "A", which is not packed'),
    (f"{MAP}.overview.at_us", "gA==", 'overview.at_us: found "gA==", which is not packed'),
    (f"{MAP}.overview.at_us", "AA==", "overview.preempted: found"),
    (f"{MAP}.overview.copied", GONE, "overview.copied: found none; expected a text"),
    (f"{MAP}.detail.begin_us", -1, "detail.begin_us: found -1; expected an integer from 0"),
    (f"{MAP}.detail.stays", [], "detail.stays: found an array; expected an object"),
    (f"{MAP}.detail.segments.size", "AA==", "detail.segments.size: found 1 values; expected"),
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


def written(path, data, manifest):
    parts = (("data", data), ("manifest", manifest))
    path.write_text("".join(f'<script type="application/json" id="{name}">{json.dumps(part)}'
                            "</script>" for name, part in parts))


def drawn(folder, out):
    """Exit code, the stems of the pictures, and the errors."""
    printed, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
        code = plot.main([str(folder), "--out", str(out)])
    return code, {Path(line).stem for line in printed.getvalue().split()}, complaint.getvalue()


def map_picture_of(page, target):
    complaint = io.StringIO()
    with contextlib.redirect_stderr(complaint):
        return map_picture.main(str(page), str(target)), complaint.getvalue()


def study(folder, *flags):
    subprocess.run([RECTO, "fragmentation", "--requests", "60", "--block-sizes", "16", *flags,
                    "--report", "--out", folder], capture_output=True, check=True)


class DamagedPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.out = Path(made.name) / "pictures"
        cls.folder = Path(made.name) / "results"
        study(cls.folder, "--allocators", "contiguous-max,paged")
        cls.page = cls.folder / "report.html"
        cls.text = cls.page.read_text()
        cls.data, cls.manifest = page_parts(str(cls.page))

    def setUp(self):
        self.page.write_text(self.text)

    def refused(self, *expected):
        code, printed, complaint = drawn(self.folder, self.out)
        self.assertEqual((code, printed), (2, set()), complaint)
        self.assertTrue(complaint.startswith(f"recto: {self.page}, "), complaint)
        for words in expected:
            self.assertIn(words, complaint)
        self.assertEqual(complaint.count("\n"), 1)
        self.assertFalse(self.out.exists())

    def test_the_field_is_named_with_what_was_found_and_expected(self):
        for field, value, expected in DAMAGED:
            with self.subTest(expected):
                written(self.page, changed(self.data, field, value), self.manifest)
                self.refused(expected)
        written(self.page, self.data, self.manifest)
        source, runs = plot.read_fragmentation(self.folder)
        page, _ = plot.page_of(self.folder, runs, None)
        self.assertEqual((len(page.maps), source.seeds), (2, 1))

    def test_the_page_of_another_study_is_refused_by_the_field_that_differs(self):
        for field, flags in (
            ("manifest.configurations[0].seed: found 2; expected 1",
             ("--seed", "2", "--allocators", "contiguous-max,paged")),
            ("manifest.configurations[0].pool_gib: found null; expected 12.0",
             ("--pool-slots", "4000", "--allocators", "contiguous-max,paged")),
            ('manifest.configurations[0].allocator: found "paged"; expected "contiguous-max"',
             ("--allocators", "paged")),
        ):
            with self.subTest(field), tempfile.TemporaryDirectory() as other:
                study(other, *flags)
                # What the runs gave differs, too, and would be named first.
                data, manifest = page_parts(f"{other}/report.html")
                for name in ("files", "rejected"):
                    manifest[name] = self.manifest[name]
                written(self.page, data, manifest)
                self.refused(field, "as " + str(self.folder / "manifest.json"))
                shutil.copy(f"{other}/report.html", self.page)
                self.refused("the page is of other results")
        written(self.page, self.data, changed(self.manifest, "recto.commit", "0123"))
        self.refused('manifest.recto.commit: found "0123"; expected "')

    def test_the_picture_of_two_maps_needs_both(self):
        target = self.folder.parent / "maps.svg"
        labelled = changed(self.data, "rows.1.label", "paged 8")
        for data, expected in (
            (labelled, "maps: found none of paged 16; expected contiguous-max and paged 16"),
            (changed(self.data, "kind", "sweep"), 'kind: found "sweep"; expected "fragmentation"'),
            (changed(self.data, "setting", GONE), "setting: found none; expected a text"),
            (self.data, "maps: found no 60 s that all have block by block"),
        ):
            written(self.page, data, self.manifest)
            code, complaint = map_picture_of(self.page, target)
            self.assertEqual(code, 2)
            self.assertIn(f"{self.page}, {expected}", complaint)
            self.assertFalse(target.exists())


if __name__ == "__main__":
    unittest.main()
