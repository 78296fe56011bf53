#!/usr/bin/env python3
"""aims.py on figures that nobody measured: each verdict, at the limit and a step beyond it."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path("tools/gpu_bundle/aims.py").resolve()
STEM = "decode/batch:64/context:{}/group:{}/head_dim:128/types:bf16-bf16/block:{}"


def decode(us, *, fraction=0.95, context=4096, group=4, block="16"):
    return {"name": STEM.format(context, group, block) + "/iterations:1/manual_time",
            "median_us": us, "fraction_of_copy_rate": fraction, "context": context,
            "group": group}


class Aims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, rows):
        (self.folder / name).write_text(json.dumps({"benchmarks": rows}))

    def run_it(self, *arguments):
        done = subprocess.run([sys.executable, PROGRAM, *(arguments or [self.folder])],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def lines(self, rows, peers=None):
        self.write("attention.json", rows)
        if peers is not None:
            self.write("peers.json", peers)
        status, lines, complaint = self.run_it()
        self.assertEqual((status, complaint, len(lines)), (0, "", 4))
        return lines

    def test_what_was_not_measured_is_not_met(self):
        skipped = decode(1) | {"error_occurred": True}
        others = [decode(1, context=2048), decode(1, group=1), decode(1, block="32")]
        self.assertTrue(all(line.endswith(": not measured")
                            for line in self.lines([skipped, *others])))

    def test_the_copy_rate(self):
        self.assertIn("met (1 cases, worst 0.900", self.lines([decode(1, fraction=0.9)])[0])
        missed = self.lines([decode(1), decode(1, fraction=0.89, group=8),
                             decode(1, fraction=0.5, context=16384)])[0]
        self.assertIn("missed (2 of 3 cases, worst 0.500: decode/batch:64/context:16384/", missed)

    def test_contiguous_memory(self):
        def told(paged_us):
            return self.lines([decode(paged_us), decode(100, block="contiguous")])[1]
        self.assertIn("met (1 cases, worst 1.030", told(103))
        self.assertIn("missed (1 of 1 cases, worst 1.031", told(103.1))

    def test_the_best_peer_counts(self):
        name = STEM.format(4096, 4, "16")
        peers = [{"name": name, "peer": "a", "median_us": 12},
                 {"name": name, "peer": "b", "median_us": 10}]
        self.assertIn("met (1 cases, worst 0.990", self.lines([decode(9.9)], peers)[2])
        self.assertIn("missed (1 of 1 cases, worst 1.000", self.lines([decode(10)], peers)[2])
        prefill = {"name": "prefill/a", "median_us": 11, "context": 4096, "group": 4,
                   "fraction_of_copy_rate": 0.1}
        peers = [{"name": "prefill/a", "peer": "a", "median_us": 10}]
        self.assertIn("met (1 cases, worst 1.100", self.lines([prefill], peers)[3])
        self.assertIn("missed", self.lines([prefill | {"median_us": 11.1}], peers)[3])

    def test_bad_input(self):
        self.assertEqual(self.run_it("a", "b")[0], 2)
        status, _, complaint = self.run_it()
        self.assertEqual(status, 2)
        self.assertIn("attention.json: expected JSON of measurements", complaint)
        for text in ("", "[]", "{}", '{"benchmarks": [3]}',
                     '{"benchmarks": [{"name": "decode/a", "median_us": 1}]}'):
            (self.folder / "attention.json").write_text(text)
            status, _, complaint = self.run_it()
            self.assertEqual((status, "Traceback" in complaint), (2, False), text)


if __name__ == "__main__":
    unittest.main()
