#!/usr/bin/env python3
"""Tests of pages of recto report if requests are rejected, the pool is hardly filled, or means
cover the drain.

    page_of_rejected_test.py RECTO
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_testing import data_of

PROGRAM = Path(sys.argv[1]).resolve()
# A block of 1000 is half of the pool: prompts of 1500 never fit.
LARGE_BLOCKS = ("--requests 200 --pool-slots 1990 --arrivals constant:0.05 "
                "--outputs mixture:0.8xconstant:200+0.2xconstant:1 "
                "--prompts mixture:0.7xconstant:50+0.3xconstant:1500").split()
STUDY = "fragmentation --allocators paged --block-sizes 16,1000".split()
SWEEP = "sweep --allocator paged --block-size 16,1000".split()


class PageOfRejected(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def made(self, *command):
        """The folder and the data of its page."""
        folder = Path(self.scratch.name, command[0])
        run = subprocess.run([PROGRAM, *command, "--report", "--out", folder], text=True,
                             capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return folder, data_of(folder)

    def test_a_block_size_that_rejects_requests_is_not_recommended(self):
        for command in (STUDY, SWEEP):
            folder, data = self.made(*command, *LARGE_BLOCKS)
            small, large = (row["metrics"] for row in data["rows"])
            self.assertEqual(small["requests_rejected"], 0)
            self.assertGreater(large["requests_rejected"], 0)
            self.assertLess(large["normalized_mean_s"], small["normalized_mean_s"])
            advice = data["panels"][0]["advice"]
            self.assertEqual(advice["recommended"], 16)
            count = round(large["requests_rejected"])
            self.assertIn(f"left out, as they reject more: block 1000 ({count}).",
                          advice["reason"])
            self.assertIn(f"1000 ({count} of 200)", data["notes"][0])
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        self.assertIn("At 1 of 2 points requests were rejected", "".join(manifest["remarks"]))

    def test_a_study_compares_rows_that_served_requests(self):
        _, data = self.made(*"fragmentation --requests 60 --pool-slots 2032 --block-sizes 8,16 "
                            "--allocators contiguous-max,paged,prefix-cached".split())
        idle = data["rows"][0]
        self.assertEqual(idle["label"], "contiguous-max")
        self.assertIn("contiguous-max (60 of 60)", data["notes"][0])
        self.assertIsNone(idle["covers_drain"])
        self.assertNotIn(0, data["headline"]["compared"])
        recommended = data["rows"][data["headline"]["recommended"]]
        families = {panel["family"]: panel["advice"]["recommended"] for panel in data["panels"]}
        self.assertEqual(families[recommended["allocator"]], recommended["block_size"])

    def test_a_run_that_hardly_fills_the_pool_recommends_no_block_size(self):
        few = "--requests 20 --model Llama-3.1-8B --gpu H100".split()
        for command in ("fragmentation --allocators paged --block-sizes 16,64", "sweep "
                        "--block-size 16,64"):
            _, data = self.made(*command.split(), *few)
            advice = data["panels"][0]["advice"]
            self.assertIsNone(advice["recommended"])
            self.assertRegex(advice["reason"], r"^This run holds \d\.\d % of the pool at most, on")

    def test_each_row_says_what_its_means_cover(self):
        trace = Path(self.scratch.name, "two.csv")
        trace.write_text("arrival_s,prompt_tokens,output_tokens\n0,1500,9\n1,50,9\n")
        for command in (STUDY, SWEEP):
            _, data = self.made(*command, "--trace", trace, "--pool-slots", "1990")
            self.assertEqual([row["covers_drain"] for row in data["rows"]], [0, 1])

    def test_the_line_of_settings_has_the_decoding(self):
        _, data = self.made(*STUDY, "--requests", "20", "--decoding", "parallel:4")
        self.assertIn("20 requests, decoding parallel:4; ", data["setting"])

    def test_a_run_that_is_over_by_then_has_no_part_told_block_by_block(self):
        study = ("fragmentation --requests 300 --allocators contiguous-max,paged --block-sizes 16 "
                 "--scale-rate 4").split()
        _, data = self.made(*study)
        ends = {series["end_s"] for series in data["series"]}
        self.assertEqual(len(ends), 2)
        late = (min(ends) + max(ends)) / 2
        _, data = self.made(*study, "--map-from-s", str(late))
        parts = [one["map"]["detail"] for one in data["maps"]]
        lengths = sorted(part["end_us"] - part["begin_us"] for part in parts)
        self.assertEqual(lengths[0], 0)
        self.assertGreater(lengths[1], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
