#!/usr/bin/env python3
"""Tests of recto report as a program: pages, refusals, and that a page loads nothing.

    report_test.py RECTO
"""

import csv
import json
import os
import re
import shutil
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

    def test_a_measured_time_model_is_found_from_another_folder_than_the_studys(self):
        home = Path(self.scratch.name, "measured-home")
        results = home / "experiments" / "results" / "synthetic-not-measured"
        shutil.copytree("sim/time/testdata/synthetic-not-measured", results)
        subprocess.run([PROGRAM, "fragmentation", *MEASURED, "--allocators", "paged",
                        "--block-sizes", "16", "--report", "--out", "study"], check=True,
                       capture_output=True, cwd=home)
        page = self.page(home / "study")
        for place, folder in (("/", home / "study"), (home / "study", ".")):
            run = subprocess.run([PROGRAM, "report", folder], capture_output=True, text=True,
                                 cwd=place)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(self.page(home / "study"), page)
        (results / "attention.json").unlink()
        self.assertIn("inputs: found experiments/results/synthetic-not-measured/attention.json, "
                      "which is neither here", self.refused(home / "study"))

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
        run = recto("report", self.study, "--html", again, "--threads", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(again.read_text("utf-8"), self.page(self.study))

    def test_rows_with_maps_and_where_they_begin_can_be_chosen(self):
        page = Path(self.scratch.name, "chosen.html")
        run = recto("report", "--map-from-s", 20, "--html", page, "--maps", "paged 64", self.study)
        self.assertEqual(run.returncode, 0, run.stderr)
        data = embedded(page.read_text("utf-8"), "data")
        self.assertEqual([data["rows"][one["row"]]["label"] for one in data["maps"]], ["paged 64"])
        self.assertEqual(data["maps"][0]["map"]["detail"]["begin_us"], 20_000_000)

    def test_bad_input_is_refused_with_what_was_expected(self):
        self.assertIn("expected a folder that recto", self.refused(self.scratch.name))
        unknown = self.refused(self.study, "--maps", "paged")
        self.assertIn("expected some of contiguous-max", unknown)
        self.assertIn("which has maps", self.refused(self.sweep, "--maps", "paged 8"))
        self.assertIn("--out", recto("fragmentation", "--requests", 5, "--report").stderr)

    def test_maps_begin_before_the_run_ends(self):
        late = self.refused(self.study, "--map-from-s", 1e9)
        told = re.search(r"--map-from-s: found 1000000000; expected less than ([\d.]+), the", late)
        self.assertTrue(told, late)
        end_s = float(told.group(1))
        self.refused(self.study, "--map-from-s", end_s)
        run = recto("report", self.study, "--map-from-s", end_s - 1, "--html",
                    Path(self.scratch.name, "late.html"))
        self.assertEqual(run.returncode, 0, run.stderr)

    def study_of_a_trace(self, name):
        """A folder, and below it results of a trace that was named from there."""
        home = Path(self.scratch.name, name)
        home.mkdir()
        (home / "t.csv").write_text("arrival_s,prompt_tokens,output_tokens\n0,10,10\n1,20,10\n")
        made = subprocess.run(
            [PROGRAM, *("fragmentation --trace t.csv --allocators paged --block-sizes 16 "
                        "--out out/study").split()], capture_output=True, text=True, cwd=home)
        self.assertEqual(made.returncode, 0, made.stderr)
        return home

    def test_a_relative_trace_is_found_from_another_folder(self):
        home = self.study_of_a_trace("traced")
        pages = []
        for place, folder in ((home, "out/study"), ("/", home / "out/study"),
                              (home / "out", "study")):
            run = subprocess.run([PROGRAM, "report", folder], capture_output=True, text=True,
                                 cwd=place)
            self.assertEqual(run.returncode, 0, run.stderr)
            pages.append(self.page(home / "out/study"))
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(pages[0], pages[2])

    def test_a_trace_that_is_gone_or_another_is_told_with_the_remedy(self):
        home = self.study_of_a_trace("gone")
        rows = (home / "t.csv").read_text()
        (home / "t.csv").write_text(rows + "2,5,5\n")
        changed = self.refused(home / "out/study")
        self.assertIn(f"{home.resolve()}/t.csv: has changed since {home}/out/study/manifest.json",
                      changed)
        (home / "t.csv").unlink()
        gone = self.refused(home / "out/study")
        self.assertIn(f"{home}/out/study/manifest.json, inputs: found t.csv, which is neither here",
                      gone)
        self.assertIn("lay it beside the manifest", gone)
        (home / "out/study/t.csv").write_text(rows)
        self.assertEqual(recto("report", home / "out/study").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
