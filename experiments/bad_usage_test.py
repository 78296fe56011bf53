#!/usr/bin/env python3
"""Errors on the command line name the flag or file, what was found and what was expected.

    bad_usage_test.py RECTO
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()

# Arguments, and the text that the line on standard error must contain.
BAD_USAGE = (
    ("", "found no command; expected one of fragmentation, simulate"),
    ("fragmentatio", "found 'fragmentatio'; expected one of"),
    ("simulate --nope", "--nope: no such flag; simulate --help lists the flags"),
    ("simulate extra", "found 'extra'; expected only flags"),
    ("simulate --block-size", "--block-size"),
    ("simulate --block-size 8 --block-size 16", "--block-size: found twice; expected it once"),
    ("simulate --block-size 0", "--block-size: found '0'; expected an integer from 1 to"),
    ("simulate --block-size -16", "found '-16'"),
    ("simulate --block-size 1e3", "found '1e3'"),
    ("simulate --block-size 99999999999999999999", "expected an integer from 1 to 1048576"),
    ("simulate --utilization nan", "--utilization: found 'nan'; expected a number"),
    ("simulate --timeline x.json --timeline-window-ms nan", "from 0.001 to 1000000000"),
    ("fragmentation --map-from-s nan", "--map-from-s: found 'nan'; expected a number from 0 to 10"),
    ("fragmentation --map-from-s inf", "--map-from-s: found 'inf'; expected a number from 0 to 10"),
    ("plan --waste-below nan", "--waste-below: found 'nan'; expected a number from 0.0001 to 100"),
    ("plan --reserve-gib nan", "--reserve-gib: found 'nan'; expected a number from 0 to 1000000"),
    ("trace x.csv --scale-rate nan", "--scale-rate: found 'nan'; expected a number from 1e-06 to"),
    ("verify --seconds nan", "--seconds: found 'nan'; expected a number from 0 to 1000000"),
    ("simulate --pool-gib inf", "--pool-gib: found 'inf'"),
    ("simulate --pool-gib -1", "--pool-gib: found '-1'"),
    ("simulate --pool-slots 15", "has 0 blocks of 16"),
    ("simulate --model GPT-9", "expected one of GPT-2-small, OPT-13B"),
    ("simulate --gpu TPU", "expected one of A100-40"),
    ("simulate --model OPT-175B", "--tp 12"),
    ("simulate --allocator slab", "expected one of paged, prefix-cached, contiguous-max"),
    ("fragmentation --manager production", "found --allocator contiguous-max; expected paged"),
    ("simulate --workload x", "expected one of sharegpt-like"),
    ("simulate --attention-curve x", "expected one of flashinfer"),
    ("simulate --arrivals poisson:nan", "--arrivals"),
    ("simulate --outputs uniform:9,3", "--outputs"),
    ("simulate --decoding beam:0", "--decoding"),
    ("simulate --batching static --decoding parallel:2", "--batching static"),
    ("simulate --window 64 --allocator prefix-cached", "--window 64"),
    ("simulate --window 64 --decoding parallel:2", "--window 64"),
    ("simulate --max-batched-tokens 8", "the 256 of --max-sequences"),
    ("simulate --trace nowhere.csv", "nowhere.csv: cannot be opened: No such file or directory"),
    ("simulate --trace .", "is a directory"),
    ("simulate --trace /dev/null", "expected a file, found a device"),
    ("simulate --trace x.csv --workload chat", "--workload"),
    ("simulate --model-file .", "Is a directory"),
    ("simulate --time-model linear:nowhere.json", "nowhere.json: cannot be read"),
    ("simulate --time-model linear:.", "cannot be read"),
    ("fragmentation --time-model measured:H200", "no results yet"),
    ("simulate --seeds 2 --timeline x.json", "--timeline"),
    ("simulate --seeds 0", "--seeds"),
    ("simulate --preemption swap", "--preemption swap: has no effect here: nothing can be"),
    ("simulate --placement best-fit", "--placement best-fit: has no effect here: it applies to"),
    ("fragmentation --allocators paged --placement best-fit", "--placement best-fit: has no"),
    ("fragmentation --block-sizes 16,,32", "--block-sizes"),
    ("fragmentation --block-sizes 0", "--block-sizes: found '0'"),
    ("fragmentation --allocators paged,slab", "--allocators: found 'slab'"),
    ("fragmentation --view side", "--view"),
    ("fragmentation --threads 0", "--threads"),
    ("numerics --seed -1", "--seed: found '-1'; expected an integer of at least 0"),
    ("numerics --type fp64", "--type: no such flag; did you mean --types?"),
    ("simulate --allocater paged", "--allocater: no such flag; did you mean --allocator?"),
    ("numerics --draws", "--draws: found none; expected a value"),
    ("numerics --n 1", "--n: found '1'; expected an integer from 2 to"),
    ("fragmentation --threads abc", "--threads: found 'abc'; expected an integer from 1 to 4096"),
    ("fragmentation --view side", "--view: found 'side'; expected one of states, paper"),
    ("fragmentation --map-from-s x", "--map-from-s: found 'x'; expected a number from 0 to 10000"),
    ("sweep --seeds abc --out q", "--seeds: found 'abc'; expected an integer from 1 to 1000000"),
    ("sweep --block-size , --out q", "--block-size: found ','; expected a list without empty"),
    ("sweep --block-size 8,,16 --out q", "--block-size: found '8,,16'; expected a list without"),
    ("sweep --allocator paged, --out q", "--allocator: found 'paged,'; expected a list without"),
    ("trace --cache-tokens , x.csv", "--cache-tokens: found ','; expected a list without empty"),
    ("trace --cache-tokens 1M,,3M x.csv", "--cache-tokens: found '1M,,3M'; expected a list"),
    ("fragmentation --out x --maps ,", "--maps: found ','; expected a list without empty items"),
    ("fragmentation --maps paged", "--maps requires --out"),
    ("trace x.csv --block-size x", "--block-size: found 'x'; expected an integer from 1 to"),
    ("verify --seconds abc", "--seconds: found 'abc'; expected a number from 0 to 1000000"),
    ("verify --kernel .", "--kernel: .: expected a shared library, got a folder"),
    ("plot x", "--out: found none; expected DIR; plot --help explains it"),
    ("plot --out x", "folder: found none; expected DIR; plot --help explains it"),
    ("completion", "SHELL: found none; expected one of bash, zsh, fish; completion --help"),
    ("trace", "FILE: found none; expected a value; trace --help explains it"),
    ("report no.json", "folder: no.json/manifest.json: No such file or directory; expected a"),
    ("simulate --trace -", "-: does not name standard input here: expected a trace file"),
    ("trace -", "-: does not name standard input here: expected a trace file"),
    ("verify --backend \x1b[2J", "--backend: found '?[2J'; expected one of"),
    ("numerics --types int4", "--types: found 'int4'; expected fp32, fp16, bf16, or one"),
)


def recto(*arguments, **options):
    """Runs in a folder where none of the named files exist."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              encoding="utf-8", cwd=folder, **options)


# Empty values, as of an unset variable: an empty name does not mean the default.
EMPTY = (
    ("simulate --timeline", "--timeline: found ''; expected a file"),
    ("generate --config", "--config: found ''; expected a file"),
    ("cases --out q --op", "--op: found ''; expected a list"),
    ("cases --out q --without", "--without: found ''; expected a list"),
    ("verify --adapter a.cc --include", "--include: found ''; expected a folder"),
    ("verify --adapter a.cc --nvcc-option", "--nvcc-option: found ''; expected an option"),
    ("trace", "FILE: found ''; expected a file"),
    ("numerics --types", "--types: found ''; expected"),
    ("numerics --n", "--n: found ''; expected"),
    ("fragmentation --allocators", "--allocators: found ''; expected"),
    ("sweep --runs", "--runs: found ''; expected"),
    ("simulate --trace", "--trace: found nothing; expected"),
)


class BadUsage(unittest.TestCase):
    def test_bad_usage_is_one_line_and_exit_code_2(self):
        for line, expected in BAD_USAGE:
            with self.subTest(line):
                done = recto(*line.split())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("recto: "))
                self.assertEqual(done.stdout, "")

    def test_an_empty_text_is_not_the_default(self):
        for line, expected in EMPTY:
            with self.subTest(line):
                done = recto(*line.split(), "")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_an_input_that_can_be_read_once_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder, "pipe")
            os.mkfifo(pipe)
            for command in ("simulate", "fragmentation", f"sweep --out {folder}/x"):
                done = recto(*command.split(), "--trace", pipe, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{pipe}: is a pipe, which is read once", done.stderr)


if __name__ == "__main__":
    unittest.main()
