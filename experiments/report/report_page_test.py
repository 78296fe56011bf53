#!/usr/bin/env python3
"""Tests of recto report as a program: pages, refusals, and that a page loads nothing.

    report_test.py RECTO
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_testing import data_of

PROGRAM = Path(sys.argv[1]).resolve()
STUDY = (
    "fragmentation --requests 300 --allocators contiguous-max,paged,prefix-cached "
    "--block-sizes 8,16,64 --report --out"
).split()
SWEEP = "sweep --requests 60 --allocator paged --block-size 8,16,32 --report --out".split()
MEASURED = ("--requests 20 --model Llama-3.1-8B --gpu H100 "
            "--time-model measured:synthetic-not-measured").split()


# Anything that makes a browser load something else while a page is opened.
LOADS = re.compile(
    r"""<(?:script|img|iframe|audio|video|embed|source)\b[^>]*\ssrc="""
    r"""|<link\b[^>]*\shref="(?!data:)"""
    r"""|url\(\s*["']?(?:https?:)?//|@import|\bfetch\(|XMLHttpRequest|new WebSocket|importScripts"""
)


def external_loads(page):
    return [match.group(0) for match in LOADS.finditer(page)]


def embedded(page, name):
    pattern = rf'<script type="application/json" id="{name}">(.*?)</script>'
    return json.loads(re.search(pattern, page, re.DOTALL).group(1))


def recto(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


class Report(unittest.TestCase):
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

    def page(self, folder):
        return Path(folder, "report.html").read_text("utf-8")

    def test_a_page_loads_nothing_from_anywhere(self):
        for folder in (self.study, self.sweep):
            self.assertEqual(external_loads(self.page(folder)), [])

    def test_what_would_load_something_is_seen(self):
        loads = ('<script src="x.js">', '<link rel="a" href="b.css">', "url(//x)", "fetch('a')")
        for text in loads:
            self.assertEqual(len(external_loads(text)), 1, text)

    def test_pictures_are_given_the_data_that_the_page_has(self):
        for folder in (self.study, self.sweep):
            self.assertEqual(data_of(folder), embedded(self.page(folder), "data"))

    def test_a_study_tells_of_every_row_and_maps_one_of_each_allocator(self):
        data = data_of(self.study)
        labels = [row["label"] for row in data["rows"]]
        self.assertEqual(len(labels), 7)
        self.assertEqual(len(data["series"]), 7)
        self.assertEqual(len(data["latency"]), 7)
        allocators = [data["rows"][one["row"]]["allocator"] for one in data["maps"]]
        self.assertEqual(allocators, ["contiguous-max", "paged", "prefix-cached"])
        self.assertEqual([panel["family"] for panel in data["panels"]], ["paged", "prefix-cached"])
        for row in data["rows"]:
            states = ("used", "reserved", "internal", "cached", "free", "overhead")
            self.assertAlmostEqual(sum(row["metrics"][state] for state in states), 1, 3)

    def test_a_sweep_has_a_panel_with_a_recommended_size(self):
        data = data_of(self.sweep)
        self.assertEqual(len(data["panels"]), 1)
        self.assertIn(data["panels"][0]["advice"]["recommended"], (8, 16, 32))

    def test_times_to_the_first_token_are_told_against_a_block_size(self):
        # Few slots: what is rounded up to whole blocks delays admissions.
        folder = Path(self.scratch.name, "tails")
        made = recto(*("fragmentation --requests 400 --allocators paged --block-sizes 8,16,256 "
                       "--pool-slots 6144 --report --out").split(), folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        data = data_of(folder)
        p99 = [row["metrics"]["ttft_p99_s"] for row in data["rows"]]
        self.assertGreater(p99[2], 1.1 * min(p99))
        verdict = data["panels"][0]["advice"]["verdicts"][2]
        self.assertIn("longer to the first token, p99", "; ".join(verdict["drawbacks"]))

    def test_means_over_seeds_have_intervals_and_are_compared_seed_by_seed(self):
        for command in ("fragmentation --allocators paged --block-sizes", "sweep --block-size"):
            folder = Path(self.scratch.name, command.split()[0] + "-seeds")
            made = recto(*command.split(), "8,16,128", "--requests", 60, "--seeds", 3, "--report",
                         "--out", folder)
            self.assertEqual(made.returncode, 0, made.stderr)
            data = data_of(folder)
            self.assertEqual(data["seeds"], 3)
            self.assertGreater(data["rows"][0]["metrics"]["used_ci95"], 0)
            self.assertNotIn("by_seed", data["rows"][0]["metrics"])
            table = csv.DictReader((folder / f"{command.split()[0]}.csv").open(encoding="utf-8"))
            name = {"sweep": "ttft_p99_s"}.get(command.split()[0], "report.ttft.p99_ns")
            rows = [[float(value) for value in row[name + "_by_seed"].split(";")] for row in table]
            best = min(rows, key=sum)
            for row, verdict in zip(rows, data["panels"][0]["advice"]["verdicts"]):
                apart = all(ours > theirs for ours, theirs in zip(row, best, strict=True))
                is_told = "the first token, p99" in "; ".join(verdict["drawbacks"])
                self.assertEqual(is_told, apart and sum(row) > 1.1 * sum(best))

    def test_a_row_that_served_nobody_has_no_latency(self):
        for seeds in (1, 2):
            folder = Path(self.scratch.name, f"idle-{seeds}")
            made = recto(*("fragmentation --requests 60 --pool-slots 1000 --block-sizes 16 "
                           "--allocators contiguous-max,paged --report --seeds").split(), seeds,
                         "--out", folder)
            self.assertEqual(made.returncode, 0, made.stderr)
            idle, busy = (row["metrics"] for row in
                          data_of(folder)["rows"])
            self.assertEqual(idle["requests_finished"], 0)
            for name in idle:
                if re.match("(queueing|ttft|tpot|latency|normalized)_.*_s", name):
                    self.assertIsNone(idle[name], name)
                    self.assertIsNotNone(busy[name], name)

    def kernels(self, *command):
        """(block size, seconds, basis) of each row, by made-up measurements."""
        folder = Path(self.scratch.name, command[0] + "-measured")
        made = subprocess.run(
            [PROGRAM, *command, *MEASURED, "--report", "--out", folder], capture_output=True,
            text=True, env=os.environ | {"RECTO_GPU_RESULTS": "sim/time/testdata"})
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("WARNING: two cards in one run", made.stdout)
        data = data_of(folder)
        [model] = data["time_models"]
        self.assertEqual(model["name"], MEASURED[-1])
        self.assertIn("attention measured on ", model["provenance"])
        rows = data["rows"]
        return [(row["block_size"], row["metrics"]["kernel_s"], row["metrics"]["kernel_basis"])
                for row in rows]

    def test_kernel_time_is_that_of_the_measured_file_for_each_block_size(self):
        # In 32 layers: 4096 B a token; 64 x 4096 tokens took 1.6 ms, in blocks of 1 twice that.
        measured = [(1, 0.1024, "measured"), (16, 0.0512, "measured"), (256, 0.0512, "measured")]
        self.assertEqual(self.kernels("fragmentation", "--allocators", "paged", "--block-sizes",
                                      "1,16,256", "--pool-slots", str(64 * 4096)), measured)
        self.assertEqual(self.kernels("sweep", "--block-size", "1,16", "--pool-slots",
                                      str(64 * 2560)),
                         [(1, 0.064, "interpolated"), (16, 0.032, "interpolated")])

    def test_kernel_time_is_not_measured_by_default(self):
        for folder in (self.study, self.sweep):
            for row in data_of(folder)["rows"]:
                self.assertIsNone(row["metrics"]["kernel_s"])
                self.assertIsNone(row["metrics"]["kernel_basis"])

    def test_the_foot_has_settings_seed_and_commit(self):
        manifest = embedded(self.page(self.study), "manifest")
        self.assertIn("commit", manifest["recto"])
        self.assertEqual(manifest["configurations"][0]["seed"], 1)

    def test_the_page_is_the_same_again_on_any_number_of_threads(self):
        again = Path(self.scratch.name, "again.html")
        run = recto("report", self.study, "--html", again)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(again.read_text("utf-8"), self.page(self.study))
        alone = Path(self.scratch.name, "one-thread")
        run = recto(*STUDY, alone, "--threads", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.page(alone), self.page(self.study))

    def mapped(self, name, *flags):
        """The data of a study with these flags, and its folder."""
        folder = Path(self.scratch.name, name)
        run = recto("fragmentation", "--requests", 300, "--allocators", "contiguous-max,paged",
                    "--block-sizes", "16,64", "--out", folder, *flags)
        return run, folder

    def test_rows_with_maps_and_where_they_begin_can_be_chosen(self):
        run, folder = self.mapped("chosen", "--map-from-s", 20, "--maps", "paged 64")
        self.assertEqual(run.returncode, 0, run.stderr)
        data = data_of(folder)
        self.assertEqual([data["rows"][one["row"]]["label"] for one in data["maps"]], ["paged 64"])
        self.assertEqual(data["maps"][0]["map"]["detail"]["begin_us"], 20_000_000)
        self.assertEqual(data["maps"][0]["map"]["close_look"]["begin_us"], 20_000_000)

    def test_bad_input_is_refused_with_what_was_expected(self):
        self.assertIn("expected a folder that recto", self.refused(self.scratch.name))
        run, folder = self.mapped("unknown", "--maps", "paged")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--maps: found 'paged'; expected some of contiguous-max, paged", run.stderr)
        self.assertFalse(folder.exists())
        self.assertIn("--out", recto("fragmentation", "--requests", 5, "--report").stderr)

    def test_maps_begin_before_the_run_ends(self):
        run, _ = self.mapped("late", "--map-from-s", 1e9)
        told = re.search(r"--map-from-s: found 1000000000; expected less than ([\d.]+), the",
                         run.stderr)
        self.assertTrue(told, run.stderr)
        end_s = float(told.group(1))
        self.assertEqual(self.mapped("late", "--map-from-s", end_s)[0].returncode, 2)
        self.assertEqual(self.mapped("late", "--map-from-s", end_s - 1)[0].returncode, 0)

    def test_a_page_needs_no_input_of_its_study(self):
        home = Path(self.scratch.name, "traced")
        home.mkdir()
        (home / "t.csv").write_text("arrival_s,prompt_tokens,output_tokens\n0,10,10\n1,20,10\n")
        made = subprocess.run(
            [PROGRAM, *("fragmentation --trace t.csv --allocators paged --block-sizes 16 "
                        "--out out/study").split()], capture_output=True, text=True, cwd=home)
        self.assertEqual(made.returncode, 0, made.stderr)
        (home / "t.csv").unlink()
        self.assertEqual(recto("report", home / "out/study").returncode, 0)
        self.assertIn("t.csv", self.page(home / "out/study"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
