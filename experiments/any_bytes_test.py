#!/usr/bin/env python3
"""Tests that file names and library texts that are not UTF-8 end no command, and that the written
JSON is valid.

    any_bytes_test.py RECTO LIBRARY
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIBRARY = Path(sys.argv.pop(2)).resolve()
PROGRAM = Path(sys.argv.pop(1)).resolve()
# A name in Latin-1, and its replacement in JSON.
TRACE, TOLD_TRACE = b"caf\xe9.csv", "caf\ufffd.csv"
ROWS = "arrival_s,prompt_tokens,output_tokens\n" + "".join(
    f"{second},{100 + second},{10 + second}\n" for second in range(20))
STUDY = ("--allocators", "paged", "--block-sizes", "8,16", "--out", "study", "--report")


class AnyBytes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        Path(os.fsdecode(os.path.join(os.fsencode(self.folder), TRACE))).write_text(ROWS)

    def run_recto(self, *arguments, expected=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done

    def printed_json(self, *arguments, expected=0):
        return json.loads(self.run_recto(*arguments, expected=expected).stdout.decode())

    def written_json(self, *parts):
        return json.loads(Path(self.folder, *parts).read_bytes().decode())

    def test_a_trace_is_told_of(self):
        self.assertIn(TOLD_TRACE, str(self.printed_json("trace", TRACE, "--json")))

    def test_a_run_says_what_it_read(self):
        told = self.printed_json("simulate", "--trace", TRACE, "--json", "--timeline", "run.json")
        self.assertEqual(told["inputs"][0]["path"], TOLD_TRACE)
        self.assertEqual(told["settings"]["trace"], TOLD_TRACE)
        self.written_json("run.json")

    def test_a_study_has_a_manifest_and_a_page(self):
        self.run_recto("fragmentation", "--trace", TRACE, *STUDY)
        manifest = self.written_json("study", "manifest.json")
        self.assertEqual(manifest["inputs"][0]["path"], TOLD_TRACE)
        page = Path(self.folder, "study", "report.html")
        self.assertIn(TOLD_TRACE, page.read_bytes().decode())
        page.unlink()
        self.run_recto("report", "study")
        self.assertIn(TOLD_TRACE, page.read_bytes().decode())

    def test_a_sweep_goes_on_where_it_was(self):
        command = ("sweep", "--trace", TRACE, "--block-size", "8,16", "--out", "grid")
        self.run_recto(*command)
        manifest = self.written_json("grid", "manifest.json")
        self.assertEqual(manifest["inputs"][0]["path"], TOLD_TRACE)
        again = self.run_recto(*command)
        self.assertIn(b"2 of 2 runs were done before", again.stderr)

    def test_a_sweep_takes_the_runs_of_others(self):
        grid = ("sweep", "--trace", TRACE, "--block-size", "8,16")
        runs = self.run_recto(*grid, "--runs", "0-1").stdout
        done = subprocess.run([PROGRAM, *grid, "--out", "grid", "--collect"], input=runs,
                              cwd=self.folder, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_library_s_failures_are_kept_and_fail_again(self):
        library = os.path.join(os.fsencode(self.folder), b"biblioth\xe8que.so")
        shutil.copy(LIBRARY, library)
        verify = ("verify", "--kernel", library, "--cases", "12", "--law", "oracle", "--out", "out")
        told = self.printed_json(*verify, "--json", expected=1)
        self.assertEqual(told["backends"][0]["name"], "\ufffdt\ufffd prefill")
        self.assertIn("plusieurs s\ufffdquences", told["passed_over"])
        self.assertIn("d\ufffdfaut", told["failures"][0]["kind"])
        self.assertIn("biblioth", told["failures"][0]["text"])
        kept = told["failures"][0]["file"]
        self.assertEqual(self.written_json(kept)["backend"], "\ufffdt\ufffd prefill")
        self.assertIn(b"\xe9t\xe9 prefill", self.run_recto(*verify, expected=1).stdout)
        again = self.run_recto("replay", kept, "--kernel", library, expected=1)
        self.assertIn(b"toujours le m\xeame", again.stdout)


if __name__ == "__main__":
    unittest.main()
