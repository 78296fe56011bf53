#!/usr/bin/env python3
"""Each law is tried by itself, `recto verify` gets what any of its checks saw, and the tables count
both. The program is a script, which prints what the trials do.
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import alone  # noqa: E402
import report  # noqa: E402

PRELUDE = """
import os, sys
law, spec = os.environ.get("RECTO_LAW_ALONE"), sys.argv[2]
def fail(said):
    rule = "-" * 79
    print(f"{rule}\\n{spec}\\n{rule}\\nx.cc:1\\n\\nx.cc:2: FAILED:\\n{said}")
    sys.exit(1)
if spec == "alone: names of laws":
    print("law: chunking\\nlaw: history\\nlaw: oracle")
"""
WELL = "\nprint('All tests passed')\n"


class Fake:
    variable = "RECTO_MUTANT"
    verifies = ["finder: oracle*"]

    def __init__(self, folder, script):
        path = Path(folder) / "program"
        path.write_text(f"#!{sys.executable}\n{PRELUDE}{script}{WELL}", encoding="utf-8")
        path.chmod(0o755)
        self.path = str(path)
        self.laws = alone.laws_of(self)


def alone_under(script):
    with tempfile.TemporaryDirectory() as folder:
        return alone.Alone().run(Fake(folder, script), 7, 60).result()


class Alone(unittest.TestCase):
    def test_names_of_laws_are_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(Fake(folder, "").laws, ["chunking", "history", "oracle"])

    def test_nothing_is_seen(self):
        self.assertEqual(alone_under(""), {"verify": "passed", "said": "", "laws": []})

    def test_every_law_is_tried_whoever_was_first(self):
        found = alone_under("if law: fail(f'explicitly with message:\\n  {law} on a-kernel: out')")
        self.assertEqual(found["laws"], ["chunking", "history", "oracle"])
        self.assertEqual(found["verify"], "killed")
        self.assertIn("chunking on a-kernel", found["said"])

    def test_what_a_law_is_put_to_is_none_of_its_kills(self):
        said = "explicitly with message:\\n  history on a-kernel: thrown\\n  contract broken: a"
        found = alone_under(f"if law == 'history': fail('{said}')")
        self.assertEqual((found["verify"], found["laws"]), ("killed", []))

    def test_checks_of_accesses_count_for_verify_alone(self):
        script = "if spec == 'finder: oracle*': fail('  CHECK( a )')"
        found = alone_under(script)
        self.assertEqual((found["verify"], found["laws"]), ("killed", []))

    def test_the_compilers_checks_do_not_count(self):
        found = alone_under("if law: print('undefined: x.cc:1: a'); sys.exit(1)")
        self.assertEqual((found["verify"], found["laws"]), ("passed", []))

    def test_a_crash_and_a_foreign_exception_do_not_count(self):
        self.assertEqual(alone_under("if law: os.abort()")["verify"], "crashed")
        thrown = "fail('due to unexpected exception with message:\\n  std::bad_alloc')"
        self.assertEqual(alone_under(f"if law: {thrown}")["verify"], "threw")


def mutant(area, verify, laws, ours="killed"):
    found = {"area": area, "ours": ours, "listed": None, "imitations": ["killed", "passed"]}
    return found | {"alone": {"verify": verify, "said": "", "laws": laws}}


class Tables(unittest.TestCase):
    def setUp(self):
        self.mutants = [
            mutant("kernels", "killed", ["chunking", "oracle"]),
            mutant("kernels", "killed", ["oracle"]),
            mutant("launches", "passed", [], ours="threw"),
            {"area": "scheduler", "ours": "killed", "listed": None, "imitations": []},
        ]

    def test_by_area_of_those_that_were_tried_alone(self):
        lines = report.alone_table(self.mutants).splitlines()
        half, all_of_them = "1 of 2 (50.0 %)", "2 of 2 (100.0 %)"
        kernels = f"| kernels | 2 | {all_of_them} | {all_of_them} | {half} | {all_of_them} |"
        self.assertEqual(lines[2], f"{kernels} 0 of 2 (0.0 %) |")
        two_thirds = "2 of 3 (66.7 %)"
        self.assertTrue(lines[-1].startswith(f"| all | 3 | {two_thirds} | {two_thirds} | 1 of 3"))
        self.assertFalse(any("scheduler" in line for line in lines))

    def test_by_law_those_that_kill_none_too(self):
        lines = report.law_table(self.mutants, ["chunking", "history", "oracle"]).splitlines()
        self.assertEqual(lines[2], "| oracle | 2 | 1 | the reference |")
        self.assertEqual(lines[3], "| chunking | 1 | 0 | the same backend |")
        self.assertEqual(lines[4], "| history | 0 | 0 | the same backend |")

    def test_there_are_none_of_a_campaign_without_columns(self):
        self.assertEqual(report.alone_table(self.mutants[3:]), "")
        self.assertEqual(report.law_table(self.mutants[3:], []), "")

    def test_foreign_exceptions_are_told_where_they_were_told_apart(self):
        self.assertNotIn("foreign", report.left_over(self.mutants[3:]))
        told = [self.mutants[3] | {"said": ""}]
        self.assertIn("by a foreign exception", report.left_over(told))
        self.assertEqual(report.failures_of(self.mutants), ["threw"])


if __name__ == "__main__":
    unittest.main()
