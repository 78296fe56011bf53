#!/usr/bin/env python3
"""Tests that build times are summed by folder, and checked on machines of any speed."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import build_times  # noqa: E402


def profile(*actions):
    """The path of a profile with (label, description, seconds)."""
    events = [{"cat": "action processing", "name": name, "dur": seconds * 1e6,
               "args": {"target": label}} for label, name, seconds in actions]
    path = Path(tempfile.mkdtemp()) / "profile.json"
    path.write_text(json.dumps({"traceEvents": [*events, {"cat": "other", "dur": 5, "name": "x"}]}))
    return path


def check(actions, document):
    file = Path(tempfile.mkdtemp()) / "document.md"
    file.write_text("\n".join(document))
    return build_times.main([str(profile(*actions)), "--check", str(file)])


class BuildTimes(unittest.TestCase):
    ACTIONS = (
        ("//bazel/testing:catch", "Compiling bazel/testing/catch.cc", 30),
        ("//sim/time:time", "Compiling sim/time/a.cc", 30),
        ("//sim:sim", "Compiling sim/b.cc", 30),
        ("//verify/simt/checks:checks", "Compiling c.cc", 20),
        ("//verify/simt:test", "Testing //verify/simt:test", 40),
    )

    def table(self):
        return build_times.table_of(build_times.folders_of(self.ACTIONS))

    def test_seconds_are_summed_by_folder(self):
        self.assertEqual(self.table()[2:], [
            "| sim | 2 | 60 | 0 |", "| verify/simt | 2 | 20 | 40 |", "| bazel | 1 | 30 | 0 |",
            "| all | 5 | 110 | 40 |"])

    def test_a_run_is_within_the_table_that_it_gives(self):
        self.assertEqual(check(self.ACTIONS, self.table()), 0)

    def test_a_slower_machine_is_within_it(self):
        slower = [(label, name, 3 * seconds) for label, name, seconds in self.ACTIONS]
        self.assertEqual(check(slower, self.table()), 0)

    def test_a_folder_may_take_half_as_much_again_and_no_more(self):
        for seconds, code in ((89, 0), (91, 1)):
            actions = [self.ACTIONS[0], ("//sim:sim", "Compiling sim/b.cc", seconds - 30),
                       *self.ACTIONS[2:]]
            actions[2] = ("//sim:sim", "Compiling sim/b.cc", 30)
            self.assertEqual(check(actions, self.table()), code)
        for seconds, code in ((59, 0), (61, 1)):
            actions = [*self.ACTIONS[:-1],
                       ("//verify/simt:test", "Testing //verify/simt:test", seconds)]
            self.assertEqual(check(actions, self.table()), code)

    def test_a_new_folder_has_a_small_budget(self):
        for seconds, code in ((29, 0), (31, 1)):
            actions = [*self.ACTIONS, ("//judged:judged", "Compiling judged/a.cc", seconds)]
            self.assertEqual(check(actions, self.table()), code)

    def test_a_document_without_the_table_is_refused(self):
        self.assertEqual(check(self.ACTIONS, ["# Times", "| sim | 1 | soon | 0 |"]), 2)

    def test_a_second_table_replaces_folders_where_there_are_more_tools(self):
        document = "\n".join([*self.table(), "", "With nvcc", "", *self.table()[:2],
                              "| sim | 9 | 90 | 9 |", ""])
        self.assertEqual(build_times.budgets_in(document, 1)["sim"].built, 60)
        both = build_times.budgets_in(document, 2)
        self.assertEqual((both["sim"].built, both["bazel"].built), (90, 30))

    def test_the_document_has_the_tables(self):
        document = Path("docs/architecture.md").read_text("utf-8")
        bare, with_tools = (build_times.budgets_in(document, tables) for tables in (1, 2))
        self.assertLess({"core", "sim", "external", "verify/kernels"}, bare.keys())
        self.assertLess(bare["experiments/report"].tested, with_tools["experiments/report"].tested)

    def test_a_folder_that_was_not_built_as_a_whole_is_not_compared(self):
        def check_with(*sim):
            return check([self.ACTIONS[0], *self.ACTIONS[3:], *sim], self.table())

        self.assertEqual(check_with(("//sim:sim", "Compiling sim/b.cc", 900)), 0)
        self.assertEqual(check_with(("//sim:sim", "Compiling sim/b.cc", 900), self.ACTIONS[1]), 1)

    def test_where_little_is_built_anew_nothing_is_compared(self):
        self.assertEqual(check([("//judged:judged", "Compiling judged/a.cc", 900)],
                               self.table()), 0)


if __name__ == "__main__":
    unittest.main()
