#!/usr/bin/env python3
"""Tests of aims.py on invented figures: each verdict, at the limit and a step beyond it."""

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


def many(row, count=8):
    """The row repeated for several cases, which differ in their names."""
    head, _, tail = row["name"].partition("/")
    return [row, *(row | {"name": f"{head}/case:{n}/{tail}"} for n in range(1, count))]


class Aims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, rows, left_out=()):
        (self.folder / name).write_text(json.dumps(
            {"benchmarks": rows, "not_measured": list(left_out)}))

    def run_it(self, *arguments):
        done = subprocess.run([sys.executable, PROGRAM, *(arguments or [self.folder])],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def lines(self, rows, peers=None, left_out=()):
        self.write("attention.json", rows)
        if peers is not None:
            self.write("peers.json", peers, left_out)
        status, lines, complaint = self.run_it()
        self.below = [line for line in lines if line.startswith("    ")]
        aims = [line for line in lines if not line.startswith("    ")]
        self.assertEqual((status, complaint, len(aims)), (0, "", 4))
        return aims

    def test_what_was_not_measured_is_not_met(self):
        skipped = decode(1) | {"error_occurred": True}
        others = [decode(1, context=2048), decode(1, group=1), decode(1, block="32")]
        self.assertTrue(all(line.endswith(": not measured")
                            for line in self.lines([skipped, *others])))

    def test_fewer_than_eight_cases_are_no_verdict_and_the_default_set_has_more(self):
        for fraction in (0.95, 0.8):
            self.assertRegex(self.lines(many(decode(1, fraction=fraction), 7))[0],
                             rf"0.90: not measured \(7 of at least 8 cases, worst {fraction:.3f}: ")
        self.assertIn(": met (8 figures", self.lines(many(decode(1)))[0])
        self.assertIn(": not met (8 of 8", self.lines(many(decode(1, fraction=0.8)))[0])

    def test_the_copy_rate(self):
        self.assertIn(": met (8 figures, worst 0.900",
                      self.lines(many(decode(1, fraction=0.9)))[0])
        missed = self.lines([*many(decode(1)), decode(1, fraction=0.89, group=8),
                             decode(1, fraction=0.5, context=16384)])[0]
        self.assertIn("not met (2 of 10 figures, worst 0.500: decode/batch:64/context:16384/",
                      missed)

    def test_contiguous_memory(self):
        def told(paged_us):
            return self.lines(many(decode(paged_us)) + many(decode(100, block="contiguous")))[1]
        self.assertIn(": met (8 figures, worst 1.030", told(103))
        self.assertIn("not met (8 of 8 figures, worst 1.031", told(103.1))

    def test_every_peer_counts(self):
        name = STEM.format(4096, 4, "16")
        slow, fast = ({"name": name, "peer": peer, "median_us": us}
                      for peer, us in (("a", 12), ("b", 10)))
        met = self.lines(many(decode(9.9)), many(slow) + many(fast))[2]
        self.assertIn(f"met (16 figures, worst 0.990: {name} over b); 8 of 8 cases", met)
        self.assertEqual(self.below[0], f"    {name}: a 0.825, b 0.990")
        self.assertIn("not met (8 of 16 figures, worst 1.000",
                      self.lines(many(decode(10)), many(slow) + many(fast))[2])
        prefill = {"name": "prefill/types:fp16-fp16/block:16", "median_us": 11, "context": 4096,
                   "group": 4, "fraction_of_copy_rate": 0.1}
        peers = many(slow | {"name": prefill["name"], "median_us": 10})
        self.assertIn("1.10: met (8 figures, worst 1.100", self.lines(many(prefill), peers)[3])
        self.assertIn("1.10: not met", self.lines(many(prefill | {"median_us": 11.1}), peers)[3])

    def test_an_aim_over_peers_is_judged_over_what_both_ran_and_says_of_how_much(self):
        near, far = STEM.format(4096, 4, "16"), STEM.format(16384, 4, "16")
        rows = [*many(decode(9)), decode(9, context=16384)]
        near_peers = many({"name": near, "peer": "a", "median_us": 10})
        peers = [*near_peers, {"name": far, "peer": "a", "median_us": 10}]
        def told(left_out, measured=tuple(peers), rows=rows):
            return self.lines(rows, list(measured), [
                {"name": name, "peer": peer, "state": state, "why": ""}
                for name, peer, state in left_out])[2].partition("below 1: ")[2]
        self.assertRegex(told([]), r"^met \(9 figures, .*\); 9 of 9 cases$")
        # A case that peers do not run is counted, and has no line.
        self.assertRegex(told([], near_peers), r"^met \(8 figures, .*\); 8 of 9 cases$")
        self.assertEqual((self.below[0], len(self.below)), (f"    {near}: a 0.900", 8))
        self.assertRegex(told([], near_peers[:7]), r"^not measured \(7 of at least 8 cases, worst "
                         r"0\.900: .*\); 7 of 9 cases; in few cases: a \(7\)$")
        few = [*peers, {"name": far, "peer": "b", "median_us": 10}]
        self.assertRegex(told([], few), r"^met \(10 .*\); 9 of 9 cases; in few cases: b \(1\)$")
        skipped = [(near, "b", "skipped"), (far, "b", "skipped")]
        self.assertRegex(told(skipped), r"^met \(9 figures, .*\); 9 of 9 cases; no figure: b$")
        for state in ("wrong", "refused"):
            self.assertRegex(told([skipped[0], (far, "b", state)]),
                             rf"^met \(9 .*; 9 of 9 cases, {state} 1 time; no figure: b$")
            self.assertIn(f"    {far}: a 0.900, b {state}", self.below)
        self.assertRegex(told([(far, "a", "refused")], []),
                         "^not measured; 0 of 9 cases, refused 1 time; no figure: a$")
        self.assertRegex(told([], near_peers, [decode(11), *rows[1:]]),
                         r"^not met \(1 of 8 figures,")
        eight_bits = decode(9) | {"name": near.replace("bf16-bf16", "bf16-e4m3")}
        self.assertRegex(told([], rows=[*rows, eight_bits]), "; 9 of 9 cases$")

    def test_gains_are_over_the_cases_that_both_runs_have(self):
        before = self.folder / "before"
        before.mkdir()
        self.write("before/attention.json", [decode(8), decode(9, group=8), decode(5, group=1)])
        self.write("attention.json", [decode(2), decode(9, group=8), decode(7, block="1")])
        status, lines, complaint = self.run_it(self.folder, before)
        self.assertEqual((status, complaint), (0, ""))
        self.assertEqual(lines[-2:], [
            f"decode, times faster than in {before}: 2.000 (2 cases, 1.000 to 4.000)",
            f"prefill, times faster than in {before}: not measured"])

    def test_bad_input(self):
        self.write("attention.json", [])
        for text in ('{"benchmarks": [{"name": "a", "median_us": 1}]}',
                     '{"benchmarks": [], "not_measured": [3]}'):
            (self.folder / "peers.json").write_text(text)
            status, _, complaint = self.run_it()
            self.assertEqual(status, 2)
            self.assertIn("peers.json: expected ", complaint)
        (self.folder / "attention.json").unlink()
        self.assertEqual(self.run_it("a", "b")[0], 2)
        status, _, complaint = self.run_it()
        self.assertEqual(status, 2)
        self.assertIn("attention.json: expected JSON of measurements", complaint)
        for text in ("", "[]", "{}", '{"benchmarks": [3]}',
                     '{"benchmarks": [{"name": "decode/a", "median_us": 1}]}'):
            (self.folder / "attention.json").write_text(text)
            status, _, complaint = self.run_it()
            self.assertEqual((status, "Traceback" in complaint), (2, False), text)
        for row, said in (({"name": "decode/a", "median_us": 1}, "decode/a has no context"),
                          ({"median_us": 1}, "row 0 has no name"),
                          ({"name": "decode/a", "median_us": 0}, "decode/a: median_us is 0")):
            (self.folder / "attention.json").write_text(json.dumps({"benchmarks": [row]}))
            self.assertIn(f"attention.json: expected JSON of measurements: {said}\n",
                          self.run_it()[2])


if __name__ == "__main__":
    unittest.main()
