#!/usr/bin/env python3
"""Tests of docs/python.md: its programs answer recto cases, and recto check judges them.

    python_cases_test.py RECTO DOCUMENT GPU_PEERS_PY EVERY_OPTION_PY
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM, DOCUMENT = (Path(path).resolve() for path in sys.argv[1:3])
PEERS = Path(sys.argv[3]).absolute().parent  # of the kernel in Triton
# The first half is about the Python package.
TEXT = DOCUMENT.read_text("utf-8").partition("## A kernel in any language")[2]
EVERYTHING = Path(sys.argv[4]).read_text("utf-8")
FULL = "RECTO_FULL" in os.environ  # the cases' usual sizes, more of them, and every planted fault
SIZES = () if FULL else ("--context-max", "500", "--rows-max", "64", "--q-heads-max", "32",
                         "--sequences-max", "32")

# Where the NumPy program must differ from the PyTorch one: the module, and how codes become
# numbers.
TORCH_ONLY = (
    "import glob, sys, numpy as np, torch as xp",
    "def numbers(codes, kind):",
    '    types = {"bf16": xp.bfloat16, "e4m3": xp.float8_e4m3fn, "e5m2": xp.float8_e5m2}',
    "    return xp.from_numpy(codes)"
    ".view(types.get(str(kind), xp.from_numpy(codes).dtype)).float()",
)

def programs():
    """The document's, in its order."""
    return re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def commands(block=0):
    """The document's command lines that are recto's: one that writes cases, one that checks."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    lines = [text for language, text in blocks if not language][block].splitlines()
    return [line.split()[1:] for line in lines if line.startswith("recto ")]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with spaces ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cases = self.folder / "cases"

    def recto(self, *arguments):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True
        )
        self.assertNotIn("Traceback", done.stderr)
        return done

    def draw(self, *flags):
        done = self.recto("cases", "--out", self.cases.name, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)

    def answer(self, program, **environment):
        path = self.folder / "program.py"
        path.write_text(program, "utf-8")
        done = subprocess.run(
            [sys.executable, path, self.cases], capture_output=True, text=True, cwd=self.folder,
            env=os.environ | environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self):
        return self.recto("check", self.cases.name)


class Document(Folder):
    def draw_as_documented(self, *flags, block=0):
        arguments = commands(block)[0]
        self.assertEqual(arguments[:2], ["cases", "--out"])
        self.cases = self.folder / arguments[2]
        self.draw(*arguments[3:], *flags)

    def test_the_numpy_program_is_right(self):
        cases = "90" if FULL else "30"
        self.draw_as_documented("--cases", cases)
        self.answer(programs()[1])
        done = self.recto(*commands()[1])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{cases} cases of cases, probabilistic bounds", done.stdout)

    def test_a_window_one_key_too_wide_is_caught_and_told(self):
        right = '(int(case["window"]) or n)'
        wrong = '(int(case["window"]) + (case["window"] > 0) or n)'
        self.assertEqual(programs()[1].count(right), 1)
        self.draw_as_documented("--cases", "30")
        self.answer(programs()[1].replace(right, wrong))
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"first out\[sequence \d+, row 0, head \d+, dim \d+\]")
        replays = re.findall(r"recto replay (\S+)", done.stdout)
        self.assertTrue(replays, done.stdout)
        told = [self.recto("replay", file) for file in replays]
        self.assertEqual({each.returncode for each in told}, {1})
        self.assertTrue(any("the window is one key too wide" in each.stdout for each in told))
        example = re.search(r"`recto replay (\S+)`", TEXT).group(1)
        self.assertIn("the window is one key too wide", self.recto("replay", example).stdout)
        healthy = self.recto("replay", replays[0], "--backend", "naive-fp64")
        self.assertEqual(healthy.returncode, 0, healthy.stdout)

    def test_both_programs_are_one_but_for_how_codes_become_numbers(self):
        torch, numpy = (program.splitlines() for program in programs()[:2])
        self.assertEqual(len(torch), 20)
        for program in programs():
            compile(program, str(DOCUMENT), "exec")
        self.assertEqual(tuple(torch[:4]), TORCH_ONLY)
        self.assertEqual(numpy[0], torch[0].replace("torch as xp", "numpy as xp"))
        self.assertEqual(numpy[3:], torch[4:])

    def test_the_pytorch_program_is_right(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            print("SKIPPED: the PyTorch program of docs/python.md: PyTorch is not installed")
            self.skipTest("no torch")
        self.draw_as_documented("--cases", "60")
        self.answer(programs()[0])
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_triton_program_is_right_and_a_key_too_few_is_caught(self):
        try:
            import torch  # noqa: F401
            import triton  # noqa: F401
        except ImportError as missing:
            print(f"SKIPPED: the Triton program of docs/python.md: {missing}")
            self.skipTest(str(missing))
        interpreted = {"TRITON_INTERPRET": "1", "PYTHONPATH": str(PEERS)}
        self.draw_as_documented("--cases", "30", block=1)
        self.answer(programs()[2], **interpreted)
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.answer(programs()[2].replace("table, lengths)\n", "table, lengths - 1)\n"),
                    **interpreted)
        self.assertEqual(self.check().returncode, 1)

    def test_every_array_of_a_case_is_in_the_document(self):
        self.draw("--cases", "3")
        names = set()
        for path in self.cases.glob("*.npz"):
            names |= set(np.load(path).files)
        self.assertLessEqual({"q", "new_k", "expected_k_cache", "bound_lse_ln"}, names)
        for name in names:
            self.assertIn(f"`{name}`", TEXT)


class Programs(Folder):
    FLAGS = (*SIZES, "--op", "prefill,kv_write", "--type", "fp32,fp16,bf16",
             "--cases", "120" if FULL else "30")

    def test_every_option_and_layout_can_be_answered_from_the_files_alone(self):
        self.draw(*self.FLAGS)
        self.answer(EVERYTHING)
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_other_layouts_can_be_answered_too(self):
        self.draw(*SIZES, "--op", "prefill", "--type", "fp16", "--layout", "head-major,packed",
                  "--head-dim", "8,16,64", "--cases", "40" if FULL else "20")
        self.answer(EVERYTHING)
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    FP8_FLAGS = (*SIZES, "--op", "prefill,kv_write",
                 "--type", "fp16/e4m3,fp16/e5m2,bf16/e4m3,bf16/e5m2",
                 "--cases", "80" if FULL else "24")

    def test_caches_in_fp8_can_be_answered_too(self):
        self.draw(*self.FP8_FLAGS)
        kinds = {str(np.load(path)["kv_type"]) for path in self.cases.glob("*.npz")}
        self.assertEqual(kinds, {"e4m3", "e5m2"})
        self.answer(EVERYTHING)
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def expect_caught(self, flags, faults):
        self.draw(*flags)
        if not FULL:
            print(f"SKIPPED: {len(faults) - 1} planted faults: --config=full has them")
        for right, wrong in faults if FULL else faults[:1]:
            with self.subTest(wrong):
                self.assertEqual(EVERYTHING.count(right), 1)
                self.answer(EVERYTHING.replace(right, wrong))
                self.assertEqual(self.check().returncode, 1)

    def test_faults_of_fp8_are_caught(self):
        self.expect_caught(self.FP8_FLAGS, (
            ('return codes * case[name + "_scale"][:, None]', "return codes"),
            (' / case[name + "_scale"][:, None], kind)', ", kind)"),
            ("& (below % 2 == 0)", "& (below % 2 == 1)"),
            (".clip(1, len(finite) - 1)", ".clip(1, len(finite) - 2)"),
            ('"e5m2": (2, 15, 0x7B)', '"e5m2": (2, 14, 0x7B)'),
        ))

    def test_faults_of_masks_and_of_writes_are_caught(self):
        self.expect_caught((*self.FLAGS[:-1], "40" if FULL else "20"), (
            ("(j <= i)", "(j < i)"),
            ("(j <= i)", "(j <= i + 1)"),
            ('i - case["window"] < j', 'i - case["window"] <= j'),
            ("slopes * (j - i)", "slopes * (i - j)"),
            ("np.exp(sinks - top)", "0"),
            ('["slot_mapping"] >= 0', '["slot_mapping"] >= -1'),
        ))

    def test_arrays_as_numpy_writes_them_are_read(self):
        self.draw("--op", "decode", "--type", "fp16", "--cases", "2")
        right, other = sorted(self.cases.glob("*.npz"))
        for path in (right, other):
            np.save(path.with_suffix(".out.npy"), np.load(path)["expected"].astype("f2"))
        self.assertEqual(self.check().returncode, 0)
        out = np.load(right.with_suffix(".out.npy"))
        np.save(right.with_suffix(".out.npy"), np.asfortranarray(out))
        self.assertEqual(self.check().returncode, 0)
        for wrong, said in (
            (out.astype("f8"), "out: expected float16 or float32 ["),
            (out.astype(">f2"), "descr: expected little-endian items, found >f2"),
            (out[None], "found float16 [1, "),
            (out.astype(object), "descr: expected numbers, not Python's objects"),
            (np.full_like(out, np.nan), "seen nan"),
        ):
            with self.subTest(said):
                np.save(right.with_suffix(".out.npy"), wrong)
                done = self.check()
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(said, done.stdout)

    def test_json_is_whole(self):
        self.draw("--cases", "3")
        done = self.recto("check", "cases", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["missing"], 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
