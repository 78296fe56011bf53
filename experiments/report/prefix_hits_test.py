#!/usr/bin/env python3
"""Tests of a page's prefix hits: a preempted request that hits its own tokens again has none.

    prefix_hits_test.py RECTO
"""

import csv
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from page_testing import data_of

PROGRAM = Path(sys.argv[1]).resolve()
# So few slots that many requests are preempted.
CROWDED = "--requests 100 --scale-rate 10 --pool-slots 4000 --max-length 2000".split()
STUDY = "fragmentation --allocators prefix-cached --block-sizes 8,16,64".split()
SWEEP = "sweep --allocator prefix-cached --block-size 8,16,64".split()
TEMPLATES = "--sharing templates:count=2,tokens=256,s=1".split()
COUNTERS = ("prefix_hit", "readmitted_hit", "prefix_query", "readmitted_query")


def told(advice):
    """Everything but the list of what sizes are compared by."""
    drawbacks = [text for one in advice["verdicts"]
                 for text in one["drawbacks"] + one["not_told_apart"]]
    price = advice["reason"].partition("Against it")[2]
    return "; ".join([*drawbacks, *advice["trade_offs"], price])


class PrefixHits(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def made(self, *command):
        """The table and the data of the page."""
        folder = Path(self.scratch.name, command[0])
        run = subprocess.run([PROGRAM, *command, *CROWDED, "--report", "--out", folder], text=True,
                             capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        with (folder / f"{command[0]}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return rows, data_of(folder)

    def check_without_hits(self, data):
        self.assertEqual([row["metrics"]["prefix_hit"] for row in data["rows"]], [0, 0, 0])
        self.assertTrue(all(row["metrics"]["preemptions"] > 0 for row in data["rows"]))
        advice = told(data["panels"][0]["advice"])
        self.assertIn("held empty", advice)
        self.assertNotIn("found cached", advice)
        self.assertNotIn("prefix hits", advice)

    def test_where_only_readmitted_requests_find_anything_hits_are_no_matter(self):
        for seeds in ("1", "2"):
            rows, data = self.made(*STUDY, "--seeds", seeds)
            found = [float(row["report.counters.prefix_hit_tokens"]) for row in rows]
            own = [float(row["report.counters.readmitted_hit_tokens"]) for row in rows]
            self.assertGreater(min(found), 0)
            self.assertEqual(found, own)
            self.check_without_hits(data)

    def test_a_sweep_tells_the_same(self):
        rows, data = self.made(*SWEEP)
        self.assertTrue(all(float(row["prefix_hit_share"]) > 0 for row in rows))
        self.check_without_hits(data)

    def test_hits_on_what_others_computed_are_shares_of_the_prompts(self):
        rows, data = self.made(*STUDY, *TEMPLATES)
        for row, shown in zip(rows, data["rows"], strict=True):
            hits, own, wanted, again = (int(row[f"report.counters.{name}_tokens"])
                                        for name in COUNTERS)
            self.assertGreater(own, 0)
            share = (hits - own) / (wanted - again)
            self.assertGreater(share, 0)
            self.assertAlmostEqual(shown["metrics"]["prefix_hit"], share, 4)
        self.assertIn("prefix hits", told(data["panels"][0]["advice"]))

    def test_hits_are_compared_seed_by_seed(self):
        rows, _ = self.made(*STUDY, *TEMPLATES, "--seeds", "2")
        for row in rows:
            by_seed = {name: [float(value) for value in row[name + "_by_seed"].split(";")]
                       for name in ["figures.first_hit_share",
                                    *(f"report.counters.{name}_tokens" for name in COUNTERS)]}
            shares, *counted = by_seed.values()
            for share, hits, own, wanted, again in zip(shares, *counted, strict=True):
                self.assertAlmostEqual(share, (hits - own) / (wanted - again))
            self.assertAlmostEqual(float(row["figures.first_hit_share"]), sum(shares) / 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
