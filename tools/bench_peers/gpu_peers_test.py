#!/usr/bin/env python3
"""Tests that need neither PyTorch nor a GPU: cases, block ids, statistics, files, comparison, and
messages on missing peers. Figures here are invented, and marked as such.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True

from gpu_peers import command_line, peers, results  # noqa: E402
from gpu_peers.case import (  # noqa: E402
    SMALL_CASES,
    BadCase,
    Case,
    RandomStream,
    parse_case,
    shuffled_ids,
    usual_cases,
)
from gpu_peers.results import Results, statistics_of  # noqa: E402

NAME = "decode/batch:64/context:4096/group:4/head_dim:128/types:bf16-bf16/block:16"
PREFILL = "prefill/batch:4/context:4096/rows:1024/group:4/head_dim:128/types:bf16-bf16/block:16"


class CaseTest(unittest.TestCase):
    def test_a_name_says_all_and_is_read_back(self):
        self.assertEqual(Case().name, NAME)
        self.assertEqual(Case("prefill", batch=4, rows=1024).name, PREFILL)
        self.assertEqual(Case(kv_heads=2).name, NAME + "/kv_heads:2")
        cases = [*usual_cases(), *SMALL_CASES]
        self.assertGreater(len(cases), 40)
        self.assertEqual(len({case.name for case in cases}), len(set(cases)))
        for case in cases:
            self.assertEqual(parse_case(case.name), case)

    def test_parts_may_come_in_any_order(self):
        self.assertEqual(parse_case("decode/block:16/types:fp16-fp16/batch:64"), Case(type="fp16"))

    def test_what_is_no_case_is_told(self):
        for name, said in (
            ("", "'': expected one of decode, "), ("merge/batch:1", "'merge': expected one of"),
            ("decode/batch:0", "batch:0: expected a number from 1 to 65536"),
            ("decode/batch:65537", "expected a number"), ("decode/batch:+1", "expected a num"),
            ("decode/batch:\u0663", "expected a number"),
            ("decode/batch:" + "9" * 5000, "expected a number"),
            ("decode/batch", "batch:: expected a number"), ("decode/", "'': expected types or one"),
            ("decode/batch:1/batch:2", "'batch:2': expected each but once"),
            ("decode/types:bf16-e4m3", "types:bf16-e4m3: expected bf16-bf16 or fp16-fp16"),
            ("decode/block:contiguous", "block:contiguous: expected a number"),
            ("decode/rows:2", "rows:2: expected 1 in decode"),
            ("prefill/rows:9/context:8", "rows:9: expected at most the context, 8"),
        ):
            with self.subTest(name[:40]), self.assertRaises(BadCase) as told:
                parse_case(name)
            self.assertIn(said, str(told.exception))
        self.assertEqual(parse_case("decode/batch:65536/context:1024").batch, 65536)
        with self.assertRaisesRegex(BadCase, "expected batch x context of at most 67108864"):
            parse_case("decode/batch:65536/context:1025")
        self.assertEqual(parse_case("prefill/rows:8/context:8").rows, 8)

    def test_bytes_and_flops_are_what_must_be_moved_and_computed(self):
        # 2 sequences of 5 tokens in 3 blocks of 2, one KV head of 4 dims, 2 query heads.
        case = Case(batch=2, context=5, group=2, head_dim=4, block=2, kv_heads=1)
        kv, q_and_out, lse, tables = 2 * 10 * 4 * 2, 2 * 2 * 2 * 4 * 2, 2 * 2 * 4, 4 * (6 + 2)
        self.assertEqual(case.kv_bytes(), kv)
        self.assertEqual(case.must_move_bytes(), kv + q_and_out + lse + tables)
        self.assertEqual(case.flops(), 4 * 2 * 5 * 2 * 4)
        # The first of three rows sees three keys.
        prefill = replace(case, family="prefill", rows=3)
        self.assertEqual(prefill.flops(), 4 * 2 * (3 + 4 + 5) * 2 * 4)

    def test_skewed_contexts_are_halved_eight_times_over(self):
        case = Case("decode_skewed", batch=10, context=96, block=16)
        self.assertEqual(case.context_lengths(), [96, 48, 24, 12, 6, 3, 1, 1, 96, 48])
        self.assertEqual(case.block_counts(), [6, 3, 2, 1, 1, 1, 1, 1, 6, 3])


class RandomBlocksTest(unittest.TestCase):
    def test_the_generator_is_that_of_recto(self):
        """The numbers of core/random_stream_test.cc."""
        zero = RandomStream(0)
        self.assertEqual([zero.next_u64() for _ in range(3)],
                         [0x99EC5F36CB75F2B4, 0xBF6E1F784956452A, 0x1A5F849D4933E6E0])
        below = RandomStream(7)
        self.assertEqual([below.next_below(1000), below.next_below(1_000_000_007)],
                         [0x3E2, 0x144A514C])

    def test_ids_are_each_given_once_and_by_the_seed(self):
        ids = shuffled_ids(1000, 1)
        self.assertEqual(sorted(ids), list(range(1000)))
        self.assertEqual(shuffled_ids(1000, 1), ids)
        self.assertNotEqual(shuffled_ids(1000, 2), ids)
        self.assertEqual((shuffled_ids(1, 1), shuffled_ids(0, 1)), ([0], []))


class ProvenanceTest(unittest.TestCase):
    def test_in_a_bundle_the_commit_is_that_of_the_bundle(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "COMMIT").write_text("abc-dirty\n", "utf-8")
            module = Path(folder) / "bench_peers" / "gpu_peers" / "results.py"
            with mock.patch.object(results, "__file__", str(module)):
                self.assertEqual(results.provenance()["recto_commit"], "abc-dirty")


class StatisticsTest(unittest.TestCase):
    def test_quantiles_are_linear_between_neighbours(self):
        found = statistics_of([5.0, 1.0, 3.0, 2.0, 4.0])
        self.assertAlmostEqual(found.low, 1.4)
        self.assertEqual(found.median, 3.0)
        self.assertAlmostEqual(found.high, 4.6)
        self.assertAlmostEqual(found.spread, 3.2 / 3)
        self.assertEqual(statistics_of([2.0]).spread, 0)


def run_main(*arguments):
    """Exit code, stdout, stderr."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = command_line.main("", list(map(str, arguments)))
        except SystemExit as stopped:
            code = stopped.code
    return code, out.getvalue(), errors.getvalue()


def recto_row(name, us, **more):
    """As Google Benchmark writes it."""
    full = f"{name}/iterations:1/manual_time"
    return {"name": full, "run_name": full, "run_type": "iteration", "iterations": 1,
            "real_time": us, "time_unit": "us"} | more


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def recto_file(self, rows, **context):
        path = self.folder / "recto.json"
        whole = {"context": {"gpu": "no card", "synthetic": True} | context, "benchmarks": rows}
        path.write_text(json.dumps(whole), "utf-8")
        return path

    def peers_file(self, *measured, **context):
        """measured: case, peer, seconds."""
        made = Results({"gpu": "no card", "synthetic": True, "copy_GB_per_s": 1000.0,
                           "matrix_TFLOP_per_s": 500.0} | context)
        for case, peer, seconds in measured:
            made.add(case, peer, statistics_of([seconds]), 1)
        made.leave_out(Case(), "vllm", "skipped", "made up")
        path = self.folder / "peers.json"
        made.write(str(path))
        return path

    def test_each_peer_stands_beside_recto_the_fastest_first(self):
        recto = self.recto_file([
            recto_row(NAME.replace("decode", "decode_tma"), 110.0),
            recto_row(NAME, 100.0, median_us=100.0, spread=0.02, fraction_of_copy_rate=0.9,
                      label="GQA decode, splits: 4"),
            recto_row(NAME.replace("block:16", "block:contiguous"), 90.0),
            recto_row("kv_write/base", 7.0),
        ])
        peers = self.peers_file((Case(), "sdpa", 250e-6), (Case(), "flex", 125e-6),
                                (Case(batch=1), "flex", 1e-6))
        code, out, errors = run_main("compare", recto, peers)
        self.assertEqual((code, errors), (0, ""))
        lines = [" ".join(line.split()) for line in out.splitlines()]
        at = lines.index(NAME)
        self.assertEqual(lines[at + 2:at + 6], [
            "recto decode 100.00 2.0 % 90.0 % 1.000 GQA decode, splits: 4",
            "recto decode_tma 110.00 - - 1.100",
            f"flex 125.00 0.0 % {Case().must_move_bytes() / 125e-6 / 1e10:.1f} % 1.250",
            f"sdpa 250.00 0.0 % {Case().must_move_bytes() / 250e-6 / 1e10:.1f} % 2.500"])
        self.assertIn("1 cases, recto ahead of every peer in 1", lines)
        self.assertIn("SKIPPED: 2 of recto's results, which no peer has a figure for", lines)

    def test_figures_that_are_made_up_are_called_so(self):
        recto, peers = self.recto_file([recto_row(NAME, 1.0)]), self.peers_file((Case(), "x", 1e-6))
        out = run_main("compare", recto, peers)[1]
        self.assertIn("WARNING: recto: SYNTHETIC figures, not measured\n", out)
        self.assertIn("WARNING: peers: SYNTHETIC figures, not measured\n", out)
        recto = self.recto_file([recto_row(NAME, 1.0)], synthetic=False, recto_commit="a")
        peers = self.peers_file((Case(), "x", 1e-6), synthetic=False, recto_commit="b")
        out = run_main("compare", recto, peers)[1]
        self.assertNotIn("SYNTHETIC", out)
        self.assertIn("WARNING: recto is of commit a, the peers' program of b\n", out)

    def test_where_a_peer_is_ahead_it_is_said(self):
        recto = self.recto_file([recto_row(NAME, 100.0), recto_row(PREFILL, 1.0)])
        peers = self.peers_file((Case(), "flashinfer", 80e-6),
                                (Case("prefill", batch=4, rows=1024), "sdpa", 2e-6))
        out = run_main("compare", recto, peers)[1]
        self.assertIn("2 cases, recto ahead of every peer in 1\n", out)
        self.assertIn("recto takes at most 1.250 x the best peer's time (flashinfer): " + NAME, out)

    def test_of_repetitions_the_median_is_taken_and_of_errors_nothing(self):
        recto = self.recto_file([
            recto_row(NAME, 5.0), recto_row(NAME, 9.0),
            recto_row(NAME, 7e3, run_type="aggregate", aggregate_name="median", time_unit="ns"),
            recto_row(NAME, 99.0, run_type="aggregate", aggregate_name="stddev"),
            recto_row(PREFILL, 0.0, error_occurred=True, error_message="SKIPPED: too little"),
        ])
        code, out, _ = run_main("compare", recto, self.peers_file((Case(), "flex", 14e-6)))
        self.assertEqual(code, 0)
        self.assertRegex(out, r"recto decode +7\.00 ")
        self.assertRegex(out, r"flex +14\.00 .* 2\.000\n")
        self.assertNotIn(PREFILL, out)

    def test_two_cards_are_not_compared(self):
        recto = self.recto_file([recto_row(NAME, 1.0)], gpu="another")
        code, out, errors = run_main("compare", recto, self.peers_file((Case(), "x", 1e-6)))
        self.assertEqual((code, out), (1, ""))
        self.assertIn("recto was measured on another, peers on no card: expected one card", errors)

    def test_without_a_common_case_nothing_is_compared(self):
        recto = self.recto_file([recto_row(NAME, 1.0)])
        code, _, errors = run_main("compare", recto, self.peers_file((Case(batch=2), "x", 1e-6)))
        self.assertEqual(code, 1)
        self.assertIn("have no case in common", errors)

    def test_a_file_that_holds_no_results_is_told(self):
        peers = self.peers_file((Case(), "x", 1e-6))
        path = self.folder / "bad.json"
        for text in ("", "[]", "{}", '{"context": {}, "benchmarks": 1}', "\xff",
                     '{"context": [], "benchmarks": []}', '{"context": {}, "benchmarks": [7]}',
                     json.dumps({"context": {}, "benchmarks": [recto_row(NAME, "x")]}),
                     json.dumps({"context": {}, "benchmarks": [recto_row(NAME, 0.0)]}),
                     json.dumps({"context": {}, "benchmarks": [recto_row(NAME, 1, time_unit=1)]})):
            path.write_text(text, "latin-1")
            for files in ((path, peers), (peers, path)):
                code, out, errors = run_main("compare", *files)
                self.assertEqual((code, out), (2, ""), text)
                self.assertIn(f"{path}: expected what --benchmark_out or --json wrote", errors)
        missing = self.folder / "missing"
        code, _, errors = run_main("compare", missing, peers)
        self.assertEqual((code, errors), (2, f"gpu_peers: {missing}: {os.strerror(2)}\n"))


class CommandLineTest(unittest.TestCase):
    def test_bad_usage_is_told(self):
        for arguments, said in (
            (["--peers", "sdpa,pytorch"], "--peers: 'pytorch': expected some of sdpa, "),
            (["--peers", ""], "--peers: '': expected some of"),
            (["--samples", "0"], "--samples: expected 1 to 100000"),
            (["--device", "tpu"], "invalid choice: 'tpu'"),
            (["--device", "cpu", "--json", "x"], "--json: there are no results with --device cpu"),
            (["--case", "decode/batch:x"], "batch:x: expected a number"),
            (["--case", NAME, "--cases-of", "x"], "not allowed with"),
            (["--cases-of", "/nowhere/x"], f"/nowhere/x: {os.strerror(2)}"),
            (["compare", "one"], "the following arguments are required: peers"),
        ):
            with self.subTest(arguments):
                code, out, errors = run_main(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(said, errors)

    def test_what_is_missing_is_skipped_with_its_reason(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            code, out, _ = run_main("--list", "--case", NAME)
        self.assertEqual(code, 0)
        lines = out.splitlines()
        for name in peers.NAMES:
            told = [line for line in lines if line.startswith(f"SKIPPED: {name}: ")]
            self.assertEqual(len(told), 1, out)
            self.assertIn("torch", told[0])
        self.assertEqual(lines[-1], NAME)

    def test_without_pytorch_there_is_nothing_to_measure_on(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            for arguments in ([], ["--device", "cpu"]):
                code, out, errors = run_main(*arguments)
                self.assertEqual((code, errors), (3, ""))
                self.assertRegex(out, "^no PyTorch: .*torch")

    def test_the_cases_of_recto_can_be_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "recto.json"
            rows = [recto_row(name, 1.0) for name in (PREFILL, NAME, "kv_write/base", NAME)]
            path.write_text(json.dumps({"context": {}, "benchmarks": rows}), "utf-8")
            code, out, _ = run_main("--list", "--cases-of", path)
            self.assertEqual((code, out.split("\n\n")[-1]), (0, f"{PREFILL}\n{NAME}\n"))
            path.write_text(json.dumps({"context": {}, "benchmarks": rows[2:3]}), "utf-8")
            code, _, errors = run_main("--list", "--cases-of", path)
            self.assertEqual(code, 2)
            self.assertIn("expected a case for peers", errors)


if __name__ == "__main__":
    unittest.main()
