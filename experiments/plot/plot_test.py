#!/usr/bin/env python3
"""Tests of the figures: their list, their contents, and that they are reproducible.

    plot_test.py RECTO
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import numpy

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")
from plot import map_figures, memory_figures, result_files, style  # noqa: E402

RECTO = os.path.abspath(sys.argv.pop(1))
SMALL = ("--requests", "120")
FRAGMENTATION = ("memory_map", "latency_distributions", "pool_states", "pool_over_time",
                 "batch_and_queue", "blocked_slots", "latencies", "block_sizes")


def recto(*arguments):
    return subprocess.run([RECTO, *map(str, arguments)], capture_output=True, text=True)


def draw(folder, out):
    """Exit code, the paths that were printed, and the errors."""
    done = recto("plot", folder, "--out", out)
    return done.returncode, done.stdout.splitlines(), done.stderr


def texts(path):
    """The texts of an SVG."""
    root = xml.etree.ElementTree.parse(path).getroot()
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


class Plot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = self.folder / "results"
        self.out = self.folder / "pictures"

    def drawn(self, *names):
        """Draws the results, which must give these figures. {name: texts}."""
        code, printed, complaint = draw(self.results, self.out)
        self.assertEqual((code, complaint), (0, ""))
        files = [str(self.out / f"{name}{suffix}") for name in names for suffix in (".png", ".svg")]
        self.assertEqual(printed, files)
        self.assertEqual(sorted(map(str, self.out.iterdir())), sorted(files))
        for path in files[::2]:
            header = Path(path).read_bytes()[:24]
            self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", header[16:])
            self.assertEqual(width, 1350)
            self.assertGreater(height, 400)
        found = {name: texts(self.out / f"{name}.svg") for name in names}
        for name, lines in found.items():
            foot = " ".join(line for line in lines if len(line) > 60)
            self.assertRegex(foot, r"recto \d+\.\d+\.\d+, commit \w+", name)
            self.assertIn("seed 1", foot)
        return found

    def test_fragmentation_through_the_command(self):
        done = recto("fragmentation", *SMALL, "--allocators", "contiguous-max,paged",
                     "--block-sizes", "16,64", "--out", self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.drawn(*FRAGMENTATION)
        for word in ("contiguous-max", "paged 16", "preempted", "internal"):
            self.assertIn(word, found["memory_map"])
        for word in ("time to first token, s", "end to end, s", "paged 64"):
            self.assertIn(word, found["latency_distributions"])
        for word in ("overhead, % of the pool", "time per output token, mean, ms",
                     "attention of a full pool, measured, ms", "not measured on this card"):
            self.assertIn(word, found["block_sizes"])
        for lines in (found["pool_states"], found["pool_over_time"]):
            for word in ("used", "reserved", "internal", "cached", "free", "overhead",
                         "contiguous-max", "paged 16", "paged 64"):
                self.assertIn(word, lines)
        self.assertIn("running", found["batch_and_queue"])
        self.assertIn("copied on write, MB", found["block_sizes"])
        # The same again, byte for byte.
        again = self.folder / "again"
        code, printed, complaint = draw(self.results, again)
        self.assertEqual((code, complaint), (0, ""))
        self.assertEqual(len(printed), 2 * len(FRAGMENTATION))
        for path in self.out.iterdir():
            self.assertEqual(path.read_bytes(), (again / path.name).read_bytes(), path.name)

    def test_bars_are_as_long_as_the_shares_say(self):
        recto("fragmentation", *SMALL, "--allocators", "contiguous-max", "--out", self.results)
        runs = result_files.read_fragmentation(self.results)[1]
        shares = [runs[0].metrics[state] for state in style.STATES]
        figure = memory_figures.pool_states(runs)
        bars = [bar for bars in figure.axes[0].containers for bar in bars]
        self.assertEqual([round(bar.get_width(), 9) for bar in bars],
                         [round(100 * share, 9) for share in shares])
        # Shares have five digits.
        self.assertAlmostEqual(sum(bar.get_width() for bar in bars), 100, delta=0.01)

    def test_an_allocator_that_served_nobody_has_no_latency(self):
        for seeds in (1, 2):
            recto("fragmentation", "--requests", "60", "--pool-slots", "1000", "--allocators",
                  "contiguous-max,paged", "--block-sizes", "16", "--seeds", seeds, "--out",
                  self.results)
            idle, busy = result_files.read_fragmentation(self.results)[1]
            for kind in ("queueing", "ttft", "tpot", "normalized"):
                for point in ("p50", "p90", "p99"):
                    self.assertIsNone(idle.value(f"{kind}_{point}_s"))
            self.assertGreater(busy.value("ttft_p50_s"), 0)
            figure = memory_figures.latencies([idle, busy])
            for axis in figure.axes:
                self.assertEqual([text.get_text() for text in axis.texts], ["no request"])
                for line in axis.get_lines():
                    self.assertEqual([round(row) for row in line.get_ydata()], [1])
                self.assertEqual(axis.get_ylim(), (1.5, -0.5))

    def test_a_study_without_the_data_of_its_page_is_refused(self):
        recto("fragmentation", *SMALL, "--allocators", "paged", "--block-sizes", "16", "--out",
              self.results)
        for text, expected in (
            (None, "report.json: No such file or directory; expected what recto fragmentation "
             "--out writes; run it again"),
            ('{"written_by":"recto report",<html', "report.json: does not belong to "),
        ):
            (self.results / "report.json").unlink(missing_ok=True)
            if text:
                (self.results / "report.json").write_text(text)
            code, printed, complaint = draw(self.results, self.out)
            self.assertEqual((code, printed), (2, []))
            self.assertIn(expected, complaint)

    def test_maps_and_distributions_show_what_the_page_has(self):
        done = recto("fragmentation", *SMALL, "--allocators", "contiguous-max,paged",
                     "--block-sizes", "16", "--report", "--out", self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, runs, data = result_files.read_fragmentation(self.results)
        self.assertEqual([runs[one["row"]].label for one in data["maps"]],
                         ["contiguous-max", "paged 16"])
        for one in data["maps"]:
            states = map_figures.overview_states(one["map"])
            # States of most of the slots around a place are about as frequent as those of slots.
            self.assertAlmostEqual((states == 0).mean(), runs[one["row"]].metrics["used"],
                                   delta=0.15)
        figure = map_figures.latency_distributions(data, runs)
        line = figure.axes[1].get_lines()[1]
        self.assertEqual(line.get_label(), "paged 16")
        self.assertEqual(list(line.get_xdata()), data["latency"][1]["ttft"])
        middle = list(line.get_ydata()).index(50.0)
        median_s = runs[1].value("ttft_p50_s")
        self.assertAlmostEqual(line.get_xdata()[middle], median_s, delta=0.01 * median_s)

    def test_states_differ_in_pattern_and_not_in_colour_alone(self):
        for number, state in enumerate(map_figures._PAINTED):
            plain = map_figures.painted(numpy.full((16, 16), number))
            levels = len(numpy.unique(plain.reshape(-1, 3), axis=0))
            self.assertEqual(levels, 2 if state in ("reserved", "internal", "cached") else 1, state)

    def test_pictures_say_of_which_seeds_they_are_and_what_is_rejected(self):
        done = recto("fragmentation", "--requests", "30", "--seeds", "2", "--allocators",
                     "contiguous-max,paged", "--block-sizes", "16,64", "--pool-slots", "1500",
                     "--max-length", "1400", "--out", self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {name: " ".join(lines) for name, lines in self.drawn(*FRAGMENTATION).items()}
        first = {"memory_map", "latency_distributions", "pool_over_time", "batch_and_queue",
                 "blocked_slots"}
        for name, text in found.items():
            told = ("seed 1 alone, the first of 2" if name in first
                    else "means over 2 seeds, from seed 1 on")
            self.assertIn(told, text, name)
            self.assertIn("1 of 3 rows reject requests", text, name)
        self.assertIn("contiguous-max, rejects 30 of 30 (mean)", found["latencies"])
        self.assertIn("±", found["pool_states"].split("recto 0")[0])
        runs = result_files.read_fragmentation(self.results)[1]
        for draw_them in (memory_figures.latencies, memory_figures.block_sizes):
            bars = [bars for axis in draw_them(runs).axes for bars in axis.containers]
            self.assertTrue(any(one.has_xerr or one.has_yerr for one in bars))

    def test_simulations(self):
        self.results.mkdir()
        done = recto("simulate", *SMALL, "--json")
        (self.results / "chat.json").write_text(done.stdout)
        found = self.drawn(*(f"chat_{name}" for name in (
            "pool_states", "pool_over_time", "batch_and_queue", "blocked_slots", "latencies")))
        self.assertIn("paged 16", found["chat_pool_over_time"])

    def test_sweeps(self):
        done = recto("sweep", *SMALL, "--block-size", "8,16", "--allocator", "paged,prefix-cached",
                     "--out", self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.drawn("over_block_size", "over_allocator")
        self.assertIn("prefix-cached", found["over_block_size"])
        self.assertIn("output tokens/s", found["over_allocator"])

    def test_numerics(self):
        done = recto("numerics", "--n", "16,64", "--types", "bf16", "--draws", "4",
                     "--out", self.results)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.drawn("sharpness", "thresholds")
        self.assertIn("bf16, worst", found["sharpness"])
        self.assertIn("bf16: swapped V", found["thresholds"])

    def test_bad_input_is_named(self):
        unknown = {"fragmentation.csv": {"xxh3_128": "0"}, "series.csv": {"xxh3_128": "0"}}
        manifest = json.dumps({"command": "fragmentation", "files": unknown})
        for files, expected in (
            ({}, "results: nothing to draw; expected what recto fragmentation"),
            ({"manifest.json": "{"}, "manifest.json:1: Expecting property name"),
            ({"manifest.json": "[]"}, "manifest.json: found list; expected an object"),
            ({"manifest.json": json.dumps({"command": "sweep"})}, "files: found no sweep.csv;"),
            ({"manifest.json": json.dumps({"command": "numerics"})}, "found no sharpness.csv;"),
            ({"manifest.json": manifest}, "fragmentation.csv: No such file"),
            ({"manifest.json": manifest, "fragmentation.csv": ""},
             "fragmentation.csv: does not match manifest.json"),
        ):
            with self.subTest(expected), tempfile.TemporaryDirectory() as folder:
                results = Path(folder) / "results"
                results.mkdir()
                for name, text in files.items():
                    (results / name).write_text(text)
                code, printed, complaint = draw(results, self.out)
                self.assertEqual((code, printed), (2, []))
                self.assertIn(expected, complaint)
                self.assertEqual(complaint.count("\n"), 1)
                self.assertFalse(self.out.exists())
        recto("fragmentation", *SMALL, "--allocators", "paged", "--block-sizes", "16", "--out",
              self.results)
        file = self.folder / "file"
        file.write_text("kept")
        for out in (file, file / "below"):
            code, printed, complaint = draw(self.results, out)
            self.assertEqual((code, printed), (2, []))
            self.assertRegex(complaint, f"^recto: --out: {out}: cannot make this folder: ")
        self.assertEqual(file.read_text(), "kept")
        rows = "arrival_s,prompt_tokens,output_tokens\n0,10,10\n"
        (self.folder / "one.csv").write_text(rows)
        for command, expected in (
            ("simulate --json --trace one.csv --max-length 8",
             "a.json, report.series: found nothing"),
            ("sweep --requests 5 --block-size 16 --out one", "found no axis with two values"),
        ):
            folder = self.folder / "one"
            folder.mkdir(exist_ok=True)
            done = subprocess.run([RECTO, *command.split()], capture_output=True, text=True,
                                  cwd=self.folder)
            if "--json" in command:
                (folder / "a.json").write_text(done.stdout)
            code, printed, complaint = draw(folder, self.out)
            self.assertEqual((code, printed), (2, []))
            self.assertIn(expected, complaint)
            (folder / "a.json").unlink(missing_ok=True)
        code, _, complaint = draw(self.folder / "nowhere", self.out)
        self.assertEqual(code, 2)
        self.assertIn("nowhere: is not a folder", complaint)


if __name__ == "__main__":
    unittest.main()
