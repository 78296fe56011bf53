#!/usr/bin/env python3
"""Tests that need PyTorch, on the CPU: the batches, the check, and a whole run with an invented
card and times. Skipped if PyTorch is not installed; RECTO_PYTHON names an interpreter that has it.
"""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True

try:
    import torch
except ImportError as missing:
    print(f"SKIPPED: the GPU peers on a CPU: {missing}")
    sys.exit(0)

from gpu_peers import card, command_line, session  # noqa: E402
from gpu_peers.case import GOLDEN_GAMMA, SMALL_CASES, mixed, parse_case  # noqa: E402
from gpu_peers.peers import Peer, Prepared, find_peer  # noqa: E402
from gpu_peers.problem import (  # noqa: E402
    check,
    expected_output,
    make_edge_problem,
    make_problem,
    uniform,
)
from gpu_peers.session import Session  # noqa: E402

DECODE, PREFILL = SMALL_CASES[0], SMALL_CASES[4]


class ProblemTest(unittest.TestCase):
    def test_numbers_are_those_of_recto(self):
        found = uniform((3, 5), "fp16", 6, "cpu").flatten()
        for i, number in enumerate(found.tolist()):
            bits = mixed((6 + i * GOLDEN_GAMMA) % (1 << 64)) >> 40
            self.assertEqual(number, torch.tensor(bits * 2.0**-23 - 1).half().item())

    def test_large_tensors_are_made_in_parts(self):
        with mock.patch("gpu_peers.problem._AT_ONCE", 7):
            parts = uniform((3, 5), "bf16", 6, "cpu")
        self.assertTrue(torch.equal(parts, uniform((3, 5), "bf16", 6, "cpu")))

    def test_each_block_is_some_sequences_and_tables_change_with_the_seed(self):
        for case in SMALL_CASES:
            problem = make_problem(case, "cpu")
            counts = case.block_counts()
            ids = [i for s, count in enumerate(counts)
                   for i in problem.block_table[s, :count].tolist()]
            self.assertEqual(sorted(ids), list(range(len(problem.k_pool))))
        other = make_problem(DECODE, "cpu", seed=2)
        self.assertFalse(torch.equal(other.block_table, make_problem(DECODE, "cpu").block_table))
        self.assertFalse(torch.equal(other.k_pool, make_problem(DECODE, "cpu").k_pool))

    def test_a_context_of_one_token_is_a_problem_too(self):
        case = parse_case("decode/batch:2/context:1/head_dim:8/kv_heads:1/block:16")
        problem = make_edge_problem(case, "cpu")
        v = torch.stack([problem.of_sequence(problem.v_pool, s)[0, 0] for s in range(2)])
        expected = v[:, None].expand(-1, 4, -1).double()
        self.assertTrue(torch.equal(expected_output(problem), expected))


def attend(problem, scale=1.0, ids=lambda ids: ids, seen=lambda row, key, last: key <= last,
           heads=lambda x, group: x.repeat_interleave(group, 0)):
    """The problem's answer in fp32, with a fault where something is replaced."""
    case, out = problem.case, []
    for s, length in enumerate(problem.lengths):
        blocks = ids(problem.block_table[s, :-(-length // case.block)].long())
        k, v = (heads(pool[blocks].transpose(0, 1).flatten(1, 2).float(), case.group)
                for pool in (problem.k_pool, problem.v_pool))
        q = problem.q_by_sequence[s].transpose(0, 1).float()
        key, row = torch.arange(k.shape[1]), torch.arange(case.rows)[:, None]
        mask = seen(row, key, length - case.rows + row)
        scores = (q @ k.mT * problem.scale * scale).masked_fill(~mask, -torch.inf)
        out.append((scores.softmax(-1) @ v).transpose(0, 1))
    return torch.cat(out).to(problem.q.dtype)


FAULTS = {
    "the last key is left out": {"seen": lambda row, key, last: key < last},
    "the first key is left out": {"seen": lambda row, key, last: (key <= last) & (key > 0)},
    "a key beyond the last is seen": {"seen": lambda row, key, last: key <= last + 1},
    "a key in the middle is left out":
        {"seen": lambda row, key, last: (key <= last) & (key != (last[-1] + 1) // 4)},
    "the first row sees all": {"seen": lambda row, key, last: key <= last.max()},
    "two blocks are swapped": {"ids": lambda ids: ids.roll(1)},
    "the blocks of another are read": {"ids": lambda ids: ids ^ 1},
    "query heads are dealt in turns": {"heads": lambda x, group: x.repeat(group, 1, 1)},
    "the scale is 5 % too large": {"scale": 1.05},
}


class CheckTest(unittest.TestCase):
    def verdict(self, problem, out):
        return check(problem, expected_output(problem), out)

    def test_what_is_right_passes(self):
        for case in SMALL_CASES:
            for problem in (make_problem(case, "cpu"), make_edge_problem(case, "cpu")):
                error, wrong = self.verdict(problem, attend(problem))
                self.assertEqual(wrong, "")
                self.assertLess(error, 0.6)

    def test_each_fault_is_found(self):
        problem = make_edge_problem(PREFILL, "cpu")
        for name, fault in FAULTS.items():
            with self.subTest(name):
                error, wrong = self.verdict(problem, attend(problem, **fault))
                self.assertGreater(error, 1.2)
                self.assertIn("out[sequence ", wrong)

    def test_answers_of_another_form_are_wrong(self):
        problem = make_problem(DECODE, "cpu")
        right = attend(problem)
        for wrong, said in ((right.float(), "found [3, 8, 64] of torch.float32"),
                            (right[:2], "found [2, 8, 64]"),
                            (right.index_fill(2, torch.tensor([5]), torch.nan), "dim 5]")):
            self.assertIn(said, self.verdict(problem, wrong)[1])


class MadeUpTimer:
    def __init__(self):
        self.calls = []

    def seconds_of(self, call):
        call()
        self.calls.append(call)
        return 1e-3 * len(self.calls)

    median_of = seconds_of


def raises(problem, timer):
    raise ValueError("of no such head dim\nand more")


def answers_zeros(problem, timer):
    return Prepared(lambda: torch.zeros_like(problem.q))


class RunTest(unittest.TestCase):
    def test_inputs_take_turns_and_the_first_is_not_counted(self):
        made = Session("cpu", 8, MadeUpTimer())
        outcome = next(made.outcomes(DECODE, [find_peer("sdpa")]))
        self.assertEqual(outcome.state, "measured")
        self.assertEqual(outcome.seconds, [1e-3 * i for i in range(2, 10)])
        calls = made.timer.calls
        self.assertEqual(len(set(calls)), 4)
        self.assertEqual(calls[:4], calls[4:8])

    def test_who_is_wrong_or_refuses_is_not_timed(self):
        made = Session("cpu", 8, MadeUpTimer())
        peers = [Peer("zeros", "", answers_zeros), Peer("raises", "", raises),
                 Peer("gpu", "", raises, needs_gpu=True),
                 Peer("decode", "", raises, operations=("decode",))]
        wrong, refused, skipped, other = made.outcomes(PREFILL, peers)
        self.assertEqual((wrong.state, refused.state), ("wrong", "refused"))
        self.assertIn("found 0; the row's error", wrong.why)
        self.assertEqual(refused.why, "ValueError: of no such head dim")
        self.assertEqual((skipped.state, skipped.why), ("skipped", "needs a GPU"))
        self.assertEqual((other.state, other.why), ("skipped", "serves decode alone"))
        self.assertEqual(made.timer.calls, [])

    def run_main(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = command_line.main("", list(arguments))
        self.assertEqual(errors.getvalue(), "")
        return code, out.getvalue()

    def test_on_a_cpu_answers_are_checked_and_no_time_is_told(self):
        code, out = self.run_main("--device", "cpu", "--peers", "sdpa,sdpa-cudnn,gather",
                                  "--case", DECODE.name)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"sdpa +\d+\.\d %\n")
        self.assertRegex(out, r"sdpa-cudnn +-  SKIPPED: needs a GPU\n")
        self.assertIn("\n2 right, 1 skipped\n", out)
        self.assertNotIn("us", out.split())

    def test_a_wrong_peer_is_the_exit_code(self):
        peers = [Peer("zeros", "", answers_zeros)]
        with mock.patch.object(command_line, "find_peers", lambda names: peers):
            code, out = self.run_main("--device", "cpu", "--case", DECODE.name)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"zeros +-  WRONG: out\[sequence 0, row 0, head 0, dim \d+\]: expec")

    def test_without_a_gpu_it_says_so(self):
        with mock.patch.object(card, "why_no_gpu", lambda: "made up"):
            self.assertEqual(self.run_main(), (3, "no GPU: made up\n"))
        if not torch.cuda.is_available():
            self.assertNotEqual(card.why_no_gpu(), "")

    def test_a_run_is_written_and_laid_beside_recto(self):
        """All but the card."""
        rates = {"copy_GB_per_s": 1000.0, "matrix_TFLOP_per_s": 500.0}
        described = {"gpu": "no card", "synthetic": True}
        with contextlib.ExitStack() as patches, tempfile.TemporaryDirectory() as folder:
            for where, name, value in (
                (card, "why_no_gpu", lambda: ""), (card, "ColdTimer", MadeUpTimer),
                (card, "card_rates", lambda timer: rates),
                (card, "describe_card", lambda: described),
                (session, "make_problem", lambda case, _, seed: make_problem(case, "cpu", seed)),
                (session, "make_edge_problem", lambda case, _: make_edge_problem(case, "cpu")),
            ):
                patches.enter_context(mock.patch.object(where, name, value))
            peers, recto = (Path(folder) / name for name in ("peers.json", "recto.json"))
            code, out = self.run_main("--peers", "gather,sdpa", "--samples", "5",
                                      "--case", DECODE.name, "--case", PREFILL.name,
                                      "--json", str(peers))
            self.assertEqual(code, 0)
            self.assertIn("no card: copies 1000 GB/s, multiplies 500 TFLOP/s in bf16\n", out)
            self.assertRegex(out, r"sdpa +\d+\.\d\d +\d+\.\d % .* 2\.\d+\n")
            whole = json.loads(peers.read_text("utf-8"))
            self.assertEqual([row["peer"] for row in whole["benchmarks"]], ["gather", "sdpa"] * 2)
            self.assertEqual(whole["benchmarks"][0]["median_us"], 4000.0)
            for key in ("date", "recto_commit", "packages", "gpu", "copy_GB_per_s"):
                self.assertIn(key, whole["context"])
            recto.write_text(json.dumps({"context": described, "benchmarks": [
                {"name": DECODE.name, "real_time": 2e3, "time_unit": "us"}]}), "utf-8")
            code, out = self.run_main("compare", str(recto), str(peers))
            self.assertEqual(code, 0)
            self.assertRegex(out, r"gather +4000\.00 +\d+\.\d % +\d+\.\d % +2\.000\n")


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of packages, about their own insides
