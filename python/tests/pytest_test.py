#!/usr/bin/env python3
"""Tests of the pytest plugin, in runs of pytest.

    pytest_test.py RECTO_KERNELS INIT_PY
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

PROGRAMS = Path(sys.argv[1]).resolve().parent
PACKAGE = Path(sys.argv[2]).absolute().parents[1]
TESTS = Path(__file__).absolute().parent

HEAD = """
import os
import kernels_testing as kernels
import recto

SMALL = dict(context_max=100, sequences_max=4, rows_max=8, q_heads_max=8, types=["fp16"])
def window(call):
    return kernels.attention(call) if os.environ.get("HEALED") else kernels.too_wide(call)
"""
RIGHT = HEAD + """
@recto.attention_cases(**SMALL, cases=4, cases_per_test=3, laws=["oracle", "history"])
def test_right(cases):
    assert cases.verify(decode=kernels.attention).cases in (1, 3)
"""
WRONG = HEAD + """
@recto.attention_cases(**SMALL, cases=10, laws=["oracle"], explain=False)
def test_window(cases):
    cases.verify(decode=window)
"""


def missing(*packages):
    return [name for name in packages if importlib.util.find_spec(name) is None]


@unittest.skipIf(missing("pytest"), "pytest is not installed")
class Plugin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pytest(self, text, *arguments, **variables):
        """Exit code and output of pytest on a file of this text."""
        (self.folder / "test_mine.py").write_text(textwrap.dedent(text))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "recto.pytest_plugin", "-p", "no:cacheprovider",
             *arguments],
            cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, "RECTO_PROGRAMS": str(PROGRAMS), "COLUMNS": "200",
                 "PYTHONPATH": f"{PACKAGE}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1", **variables},
        )
        return done.returncode, done.stdout + done.stderr

    def saved(self):
        return sorted(path.relative_to(self.folder) for path in self.folder.rglob("*.json"))

    def test_there_is_a_test_for_each_law_and_group_of_cases(self):
        code, said = self.pytest(RIGHT, "-v")
        self.assertEqual(code, 0, said)
        found = re.findall(r"test_right\[([^]]+)\] PASSED", said)
        self.assertEqual(found, ["oracle-seed-2026", "oracle-seed-2027", "history-seed-2026",
                                 "history-seed-2027"])
        code, said = self.pytest(RIGHT, "-v", "--recto-seed=7", "--recto-cases=1")
        self.assertEqual(re.findall(r"test_right\[([^]]+)\] PASSED", said),
                         ["oracle-seed-7", "history-seed-7"])

    def test_all_laws_are_there_by_default(self):
        text = HEAD + "@recto.attention_cases()\ndef test_all(cases):\n    pass\n"
        code, said = self.pytest(text, "--collect-only", "-q")
        self.assertEqual(code, 0, said)
        names = re.findall(r"test_all\[(\w+)-seed-\d+\]", said)
        self.assertEqual(names[0], "oracle")
        self.assertIn("masked_keys", names)
        self.assertEqual(len(names), 2 * len(set(names)))

    def test_a_failure_prints_the_case_and_how_to_repeat_it(self):
        code, said = self.pytest(WRONG)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"shape +1 q heads, 1 KV heads")
        self.assertRegex(said, r"first \w+\[sequence 0, row 0, head 0")
        self.assertRegex(said, r'recto.replay\(".*oracle-1.json", decode=...\)')
        [line] = re.findall(r"again +pytest (.*)", said)
        self.assertEqual(line, "--recto-seed=2026 --recto-cases=10 "
                               "'test_mine.py::test_window[oracle-seed-2026]'")
        self.assertNotIn("_attention_cases.py:", said)  # no frames of the package

    def test_failing_cases_are_kept_run_first_and_deleted_when_healed(self):
        self.pytest(WRONG)
        [case] = self.saved()
        self.assertEqual(case.parts[:2], (".recto", "test_mine.py-test_window"))
        # Another seed, of few cases: the saved one fails first.
        code, said = self.pytest(WRONG, "--recto-seed=3", "--recto-cases=1")
        self.assertEqual(code, 1, said)
        self.assertIn("it failed before, and fails again", said)
        code, said = self.pytest(WRONG, HEALED="1")
        self.assertEqual((code, self.saved()), (0, []), said)

    def test_earlier_cases_are_run_within_the_filters(self):
        # A law puts NaN, too, where a function may read what is finite.
        text = HEAD + """
def reads_more(call):
    out, lse_ln = kernels.attention(call)
    factor = 0 if os.environ.get("HEALED") else 1
    return out + factor * call.float32("v_cache")[~call.live].sum(), lse_ln

@recto.attention_cases(**SMALL, cases=4, laws=["unaddressed_slots"], layouts=["token-major"],
                       poison="finite", tails="finite", explain=False)
def test_finite(cases):
    cases.verify(decode=reads_more)
"""
        code, said = self.pytest(text)
        self.assertEqual((code, len(self.saved())), (1, 1), said)
        code, said = self.pytest(text, HEALED="1")
        self.assertEqual((code, self.saved()), (0, []), said)

    def test_each_group_has_the_earlier_cases_of_its_own_seed(self):
        text = HEAD + """
@recto.attention_cases(**SMALL, cases=20, cases_per_test=10, laws=["oracle"], explain=False)
def test_one_of_two(cases):
    cases.verify(decode=kernels.attention if cases.seed == 2026 else window)
"""
        for said_before in (self.assertNotIn, self.assertIn):
            code, said = self.pytest(text)
            [case] = self.saved()
            self.assertEqual((code, case.parts[2]), (1, "oracle-seed-2027"), said)
            self.assertIn("1 failed, 1 passed", said)
            said_before("it failed before, and fails again", said)

    def test_an_earlier_case_that_is_refused_now_is_kept_and_passed_over(self):
        self.pytest(WRONG)
        refuses = WRONG.replace("decode=window", "decode=refuses") + """
def refuses(call):
    if call.window is not None:
        raise recto.Unsupported("windows")
    return kernels.attention(call)
"""
        code, said = self.pytest(refuses)
        self.assertEqual((code, len(self.saved())), (0, 1), said)

    def test_a_crash_is_a_failure_and_pytest_goes_on(self):
        text = """
@recto.attention_cases(**SMALL, cases=2, laws=["oracle"], isolate=True)
def test_crash(cases):
    cases.verify(decode=lambda call: os.abort())
"""
        code, said = self.pytest(HEAD + text + RIGHT.replace(HEAD, ""))
        self.assertEqual(code, 1, said)
        self.assertIn("decode was ended by SIGABRT", said)
        self.assertIn("isolate=True)", said)
        self.assertIn("1 failed, 4 passed", said)

    def test_equal_seeds_give_equal_failures(self):
        first, second = (
            re.sub(r"in [\d.]+s", "", self.pytest(WRONG, f"--recto-database={name}")[1])
            for name in ("one", "two")
        )
        self.assertEqual(first.replace("/one/", "/two/"), second)
        [one], [two] = (list((self.folder / name).rglob("*.json")) for name in ("one", "two"))
        self.assertEqual(one.read_text(), two.read_text())

    def test_a_law_that_applies_to_no_case_is_skipped_with_its_reason(self):
        text = RIGHT.replace('laws=["oracle", "history"]', 'laws=["merge_identity"]')
        code, said = self.pytest(text, "-rs")
        self.assertEqual(code, 0, said)
        self.assertIn("merge_identity: no case of 3: exposes no merge of partial states", said)

    @unittest.skipIf(missing("xdist"), "pytest-xdist is not installed")
    def test_it_runs_on_several_workers(self):
        code, said = self.pytest(RIGHT + WRONG.replace(HEAD, ""), "-n", "2")
        self.assertEqual(code, 1, said)
        self.assertIn("1 failed, 4 passed", said)

    def test_wrong_use_is_told(self):
        for text, options, expected in (
            ("@recto.attention_cases()\ndef test_it():\n    pass\n", (),
             "a parameter named 'cases'"),
            ("def test_it(cases):\n    pass\n", (), "decorated by recto.attention_cases"),
            ("@recto.attention_cases(cases=0)\ndef test_it(cases):\n    pass\n", (), "1 at least"),
            ("", ("--recto-cases=0",), "--recto-cases: invalid"),
            ("@recto.attention_cases(laws=['x'])\ndef test_it(cases):\n"
             "    cases.verify(decode=window)\n", (), "laws: "),
            ("@recto.attention_cases(typs=['x'], laws=['oracle'])\ndef test_it(cases):\n"
             "    cases.verify(decode=window)\n", (), "'typs' is no option: did you mean 'types'"),
        ):
            with self.subTest(expected):
                code, said = self.pytest(HEAD + text, *options)
                self.assertNotEqual(code, 0)
                self.assertIn(expected, said)


if __name__ == "__main__":
    for name in missing("pytest", "xdist"):
        print(f"SKIPPED: {name} is not installed")
    unittest.main(argv=sys.argv[:1])
