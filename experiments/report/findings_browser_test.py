#!/usr/bin/env python3
"""Tests in a headless Chromium of pages of studies with several seeds, with rejected requests, and
with latency limits.

    findings_browser_test.py RECTO
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_testing import BrowserSession, run_tests

PROGRAM = Path(sys.argv[1]).resolve()
SEEDS = (
    "fragmentation --requests 60 --allocators paged --block-sizes 8,16 --seeds 3 --report --out"
).split()
REJECTED = (
    "fragmentation --requests 60 --allocators contiguous-max,paged,prefix-cached "
    "--block-sizes 8,16 --pool-slots 2032 --report --out"
).split()
BURST = (
    "fragmentation --requests 100 --allocators paged --block-sizes 16,32 --arrivals constant:1000 "
    "--report --out"
).split()
MEASURED = (
    "sweep --requests 20 --model Llama-3.1-8B --gpu H100 --block-size 1,16,256 --time-model "
    "measured:synthetic-not-measured --report --out"
).split()


class Findings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.profile = cls.scratch.name + "/profile"
        cls.seeds = Path(cls.scratch.name, "seeds")
        subprocess.run([PROGRAM, *SEEDS, cls.seeds], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_means_over_seeds_have_their_intervals_beside_them(self):
        with BrowserSession(self.seeds / "report.html", self.profile + "-seeds") as session:
            session.wait_for("document.querySelectorAll('#block-size td').length > 0")
            self.assertEqual(session.run("JSON.stringify(pageErrors)"), "[]")
            # All cells with a number: of the latencies, and of the panel but for the first column.
            for place, cells in (("#latency td", 16), ("#block-size td", 20)):
                count = f"document.querySelectorAll('{place} .interval').length"
                self.assertEqual(session.run(count), cells, place)
            self.assertIn("Means over 3 seeds", session.run("document.body.innerText"))

    def test_a_sweep_tells_what_its_step_times_are_based_on(self):
        folder = Path(self.scratch.name, "measured")
        subprocess.run([PROGRAM, *MEASURED, folder], check=True, capture_output=True,
                       env=os.environ | {"RECTO_GPU_RESULTS": "sim/time/testdata"})
        with BrowserSession(folder / "report.html", self.profile + "-measured") as session:
            session.wait_for("document.querySelectorAll('#foot dd').length > 0")
            self.assertEqual(session.run("JSON.stringify(pageErrors)"), "[]")
            panel = session.run("document.getElementById('block-size').innerText")
            foot = session.run("document.getElementById('foot').innerText")
        model = "measured:synthetic-not-measured"
        self.assertIn(f"Kernel time per block size: {model}, attention measured on ", panel)
        self.assertRegex(foot, rf"step times\s+{model}: attention measured on ")

    def test_a_panel_says_of_what_it_is_however_many_there_are(self):
        axes = ("sweep --requests 20 --model OPT-13B,OPT-66B --block-size 8,16 --report "
                "--out").split()
        told = {}
        for name, more in (("one", ()), ("many", (
                "--prefill", "whole,chunked", "--batching", "continuous,static", "--allocator",
                "paged,prefix-cached", "--admission", "whole-prompt,first-chunk"))):
            folder = Path(self.scratch.name, "of-" + name)
            done = subprocess.run([PROGRAM, *axes, folder, *more], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)  # OPT-66B does not fit
            with BrowserSession(folder / "report.html", f"{self.profile}-{name}",
                                size=(500, 900)) as session:
                session.wait_for("document.querySelectorAll('#block-size td').length > 0")
                told[name] = session.run("document.querySelector('#block-size h3').innerText")
                self.assertLessEqual(session.run("document.documentElement.scrollWidth"), 500)
        self.assertEqual(told["one"], "Of model OPT-13B")

    def test_times_on_an_axis_have_one_unit(self):
        with BrowserSession(self.seeds / "report.html", self.profile + "-units") as session:
            session.wait_for("document.querySelectorAll('#block-size .uplot').length > 9")
            labels = session.run("[[0, 500, 1000, 2000], [0, 0.0005, 0.001], [100, 500]].map("
                                 "(splits) => valuesAxis(span).values({ data: [] }, splits))")
            steps = session.run("document.querySelectorAll('#block-size .plot')[4].chart.axes[1]"
                                "._splits")
        self.assertEqual(labels, [["0", "8.33 min", "16.67 min", "33.33 min"],
                                  ["0", "0.5 ms", "1 ms"], ["100 s", "500 s"]])
        self.assertGreater(len(steps), 1)

    def test_a_page_tells_of_rejected_requests(self):
        folder = Path(self.scratch.name, "rejected")
        subprocess.run([PROGRAM, *REJECTED, folder], check=True, capture_output=True)
        with BrowserSession(folder / "report.html", self.profile + "-rejected") as session:
            session.wait_for("document.querySelectorAll('#glance td').length > 0")
            self.assertEqual(session.run("JSON.stringify(pageErrors)"), "[]")
            notice = session.run("document.querySelector('.notice').innerText")
            finding = session.run("document.querySelector('.finding').innerText")
            column = session.run("[...document.querySelectorAll('#glance th')].findIndex("
                                 "(head) => head.innerText === 'rejected')")
            cells = session.run("[...document.querySelectorAll('#glance tr')].slice(1).map("
                                f"(row) => row.cells[{column}].innerText)")
            session.call("Emulation.setEmulatedMedia", media="print")
            family = "document.querySelector('#block-size h3').innerText"
            printed = [session.run(f"document.getElementById('family').value = {i}; document."
                                   "getElementById('family').dispatchEvent(new Event('change')); "
                                   f"{family}") for i in (0, 1)]
        # A printed page has no menu of allocators: the panel names its allocator.
        self.assertEqual(printed, ["Of paged; the page also has prefix-cached",
                                   "Of prefix-cached; the page also has paged"])
        self.assertIn("contiguous-max (60 of 60)", notice)
        self.assertRegex(finding, r"^(paged|prefix-cached) \d+ keeps .* against [\d.]+ output ")
        self.assertRegex(finding, r"(paged|prefix-cached) \d+ is recommended")
        self.assertEqual(cells[0], "60")
        self.assertEqual(set(cells[1:]), {"0"})

    def test_a_page_with_limits_shows_what_meets_them_and_recommends_nothing_if_nothing_does(self):
        told = {}
        for limit in (1, 100000):
            folder = Path(self.scratch.name, f"limit-{limit}")
            subprocess.run([PROGRAM, *BURST, folder, "--tpot-limit-ms", str(limit)], check=True,
                           capture_output=True)
            with BrowserSession(folder / "report.html", f"{self.profile}-{limit}") as session:
                session.wait_for("document.querySelectorAll('#block-size .uplot').length > 9")
                self.assertEqual(session.run("JSON.stringify(pageErrors)"), "[]")
                heads = session.run("[...document.querySelectorAll('th')].map("
                                    "(head) => head.innerText)")
                told[limit] = session.run("[document.querySelector('.finding').innerText, "
                                          "document.querySelector('.advice').innerText]")
                labels = session.run("[16, 32].map((size) => sizeLabel(size, 32))")
            self.assertEqual(labels, ["16", "32\n★"])
            self.assertIn("in limits/s", heads)
            self.assertIn("Requests per second within the limits", heads)
            self.assertRegex(told[limit][0], r"mean up to the last arrival: the first [\d.]+ % of")
        self.assertIn("; no request met the latency limits.", told[1][0])
        self.assertNotIn("is recommended", told[1][0])
        self.assertTrue(told[1][1].startswith("No request meets the latency limits with blocks"))
        self.assertRegex(told[100000][0], r" requests per second within .* is recommended\.")
        self.assertTrue(told[100000][1].startswith("★ Block "))


if __name__ == "__main__":
    run_tests()
