#!/usr/bin/env python3
"""Tests of summarise_tests.py."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "bazel")
import summarise_tests  # noqa: E402


def configured(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def summary(label, status):
    return {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}


class SummariseTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def result(self, label, log):
        path = self.folder / "a log.txt"
        path.write_text(log)
        outputs = [{"name": "test.log", "uri": path.as_uri()}]
        return {"id": {"testResult": {"label": label}}, "testResult": {"testActionOutput": outputs}}

    def summarise(self, events, bazel_status=0, cut=""):
        path = self.folder / "events"
        path.write_text("".join(json.dumps(event) + "\n" for event in events) + cut)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = summarise_tests.main(path, bazel_status)
        return status, printed.getvalue().splitlines()

    def test_all_passed(self):
        status, lines = self.summarise([summary("//a:b", "PASSED"), summary("//a:c", "FLAKY")])
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed"))

    def test_a_failure_shows_its_log(self):
        events = [self.result("//a:b", "expected 1\n"), summary("//a:b", "FAILED")]
        status, lines = self.summarise(events, bazel_status=3)
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertIn("    expected 1", lines)

    def test_skipped_cases_are_shown_and_counted(self):
        events = [self.result("//a:b", "SKIPPED: x: no GPU\nnot SKIPPED: y\n")]
        status, lines = self.summarise(events + [summary("//a:b", "PASSED")])
        self.assertEqual(
            (status, lines), (0, ["//a:b: SKIPPED: x: no GPU", "1 passed, 0 failed, 1 skipped"])
        )

    def test_failures_are_told_after_what_was_skipped(self):
        log = self.result("//b:c", "SKIPPED: x: no GPU\n")
        events = [summary("//a:b", "TIMEOUT"), log, summary("//b:c", "PASSED")]
        self.assertEqual(self.summarise(events, bazel_status=3), (1, [
            "//b:c: SKIPPED: x: no GPU", "//a:b: TIMEOUT", "1 passed, 1 failed, 1 skipped"]))

    def test_a_test_that_was_not_built_has_failed(self):
        events = [configured("//a:b"), configured("//a:c"), summary("//a:c", "PASSED")]
        status, lines = self.summarise(events, bazel_status=1)
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_a_failed_build_is_a_failure_though_all_tests_passed(self):
        status, lines = self.summarise([summary("//a:b", "PASSED")], bazel_status=1)
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.summarise([])[0], 1)
        self.assertEqual(self.summarise([], bazel_status=4)[1][-1], "0 passed, 1 failed")

    def test_events_cut_short_are_read_as_far_as_they_go(self):
        status, lines = self.summarise([summary("//a:b", "PASSED")], 8, cut='{"id": {"test')
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
