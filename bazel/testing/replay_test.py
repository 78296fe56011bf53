#!/usr/bin/env python3
"""Each run finds the same failure and shrinks it, and the printed command replays it."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

FUZZ = "bazel/testing/planted_fuzz"
PROPERTY = "bazel/testing/planted_property"


def run(program, *arguments, **environment):
    """Returns exit status and everything printed."""
    unset = ("RC_PARAMS", "RECTO_FULL", "RECTO_FUZZ_SECONDS", "TESTBRIDGE_TEST_ONLY")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [program, *arguments],
        env={**inherited, "TEST_TARGET": "//planted:it", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fuzz(self, *arguments, failure="abort"):
        return run(FUZZ, *arguments, PLANTED=failure, TEST_UNDECLARED_OUTPUTS_DIR=self.folder)

    def test_each_way_to_fail_is_seen_and_keeps_the_input(self):
        for failure in ("abort", "exit", "throw"):
            with self.subTest(failure):
                kept = Path(self.folder) / "failing_input"
                kept.unlink(missing_ok=True)
                status, printed = self.fuzz("-runs=20000", failure=failure)
                self.assertNotEqual(status, 0)
                self.assertIn(b"1e309", kept.read_bytes())
                index = re.search(r"replay: ./bazelw run //planted:it -- (-only=\d+)\n", printed)
                self.assertIsNotNone(index, printed)
                # As `bazel run` does: the target's own arguments come first.
                self.assertNotEqual(self.fuzz("-runs=20000", index[1], failure=failure)[0], 0)
                self.assertNotEqual(self.fuzz(f"-file={kept}", failure=failure)[0], 0)

    def test_fuzzing_is_deterministic(self):
        self.assertEqual(self.fuzz("-runs=20000"), self.fuzz("-runs=20000"))

    def test_without_a_failure_all_inputs_are_counted(self):
        corpus = Path(self.folder) / "entry"
        corpus.write_text("[1, 2]")
        status, printed = self.fuzz("-runs=100", str(corpus), failure="none")
        self.assertEqual(status, 0)
        self.assertIn("101 inputs ran (1 of them files of the corpus)", printed)

    def test_a_missing_file_is_named(self):
        status, printed = self.fuzz("-runs=1", "no/such/file")
        self.assertEqual((status, printed), (2, "fuzz: cannot read no/such/file\n"))

    def test_numbers_that_are_none_are_refused(self):
        for argument in ("-runs=abc", "-runs=", "-only=1x", "-only=-1", "-runs=1.5"):
            name, text = argument.split("=")
            status, printed = self.fuzz(argument)
            said = f"fuzz: {name}: expected a whole number, got '{text}'\n"
            self.assertEqual((status, printed), (2, said))

    def test_a_property_is_shrunk_and_its_replay_fails_at_once(self):
        status, printed = run(PROPERTY)
        self.assertNotEqual(status, 0)
        minimal = "end:\n  5\n  \nlist:\n  { 0, 0, 0, 0, 0 }\n"
        self.assertIn(minimal, printed)
        self.assertIn("Expands to:\n  5 < 5\n", printed)
        self.assertEqual(printed, run(PROPERTY)[1])
        command = re.search(
            r'^replay: RC_PARAMS="(reproduce=\S+)" ./bazelw test //planted:it '
            r"--test_filter='\[#planted_property\]'$",
            printed,
            re.M,
        )
        self.assertIsNotNone(command, printed)
        status, printed = run(PROPERTY, RC_PARAMS=command[1])
        self.assertNotEqual(status, 0)
        self.assertIn("Falsifiable after 1 tests", printed)
        self.assertIn(minimal, printed)

    def test_each_case_is_in_one_shard(self):
        shards = [run(PROPERTY, TEST_TOTAL_SHARDS="2", TEST_SHARD_INDEX=str(i)) for i in (0, 1)]
        self.assertEqual(["Falsifiable" in printed for _, printed in shards], [True, False])
        self.assertEqual([status != 0 for status, _ in shards], [True, False])

    def test_shards_are_confirmed_and_may_be_empty(self):
        file = Path(self.folder) / "status"
        shard = {"TEST_TOTAL_SHARDS": "9", "TEST_SHARD_INDEX": "8"}
        status, printed = run(PROPERTY, TEST_SHARD_STATUS_FILE=str(file), **shard)
        self.assertEqual(status, 0, printed)
        self.assertTrue(file.is_file())

    def test_a_filter_without_a_case_fails(self):
        for shard in ({}, {"TEST_TOTAL_SHARDS": "2", "TEST_SHARD_INDEX": "1"}):
            status, printed = run(PROPERTY, TESTBRIDGE_TEST_ONLY="[#propery]", **shard)
            said = "--test_filter='[#propery]': no test case of this program matches\n"
            self.assertEqual((status, printed), (2, said))

    def test_a_seed_given_is_used(self):
        self.assertIn("seed=7", run(PROPERTY, RC_PARAMS="seed=7")[1])
        self.assertIn("max_success=1000", run(PROPERTY, RECTO_FULL="1")[1])


if __name__ == "__main__":
    unittest.main()
