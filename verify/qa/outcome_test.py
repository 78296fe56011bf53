#!/usr/bin/env python3
"""How a program ended is determined from what it prints and how it exits. The programs here are
scripts, which print what Catch2 does.
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import outcome  # noqa: E402

HEAD = f"""{'-' * 79}
a prompt beyond the budget
{'-' * 79}
sim/x_test.cc:61
{'.' * 79}

sim/x_test.cc:62: FAILED:
"""
TAIL = f"\n{'=' * 79}\ntest cases: 1 | 1 failed\n"
UNEXPECTED = "due to unexpected exception with message:\n"
FOREIGN = UNEXPECTED + "  vector::_M_default_append\n"
EXECUTOR = """  verify/kernels/device_call.cc:236: contract broken: nothing is found in the kernels
  (race in kernel 'reference_decode': x.cuh:3: thread 1)
"""


def program(folder, script):
    path = Path(folder) / "program"
    path.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


class Endings(unittest.TestCase):
    def ends(self, script, seconds=60):
        with tempfile.TemporaryDirectory() as folder:
            return outcome.run(program(folder, script), "a spec", 7, seconds)

    def fails(self, said):
        return self.ends(f"print({HEAD + said + TAIL!r})\nraise SystemExit(2)")

    def test_well(self):
        self.assertEqual(self.ends("print('All tests passed (1 assertion)')").kind, "passed")

    def test_without_a_test(self):
        with self.assertRaises(SystemExit):
            self.ends("print('No tests ran')")

    def test_by_an_assertion_which_is_kept(self):
        found = self.fails("  CHECK( a == b )\nwith expansion:\n  1 == 2\n")
        self.assertEqual((found.kind, found.sort), ("killed", ""))
        self.assertEqual(found.by, "a prompt beyond the budget")
        self.assertEqual(found.shown(), "CHECK( a == b ) with expansion: 1 == 2")

    def test_by_the_first_of_two_assertions(self):
        found = self.fails("  CHECK( a )\n\nsim/x_test.cc:70: FAILED:\n" + FOREIGN)
        self.assertEqual((found.kind, found.said), ("killed", "CHECK( a )"))

    def test_a_long_one_is_shortened(self):
        found = self.fails(f"  CHECK( {'a' * 300} )\n")
        self.assertEqual(len(found.shown()), outcome.SHOWN)
        self.assertTrue(found.shown().endswith("..."))

    def test_by_a_broken_contract(self):
        found = self.fails(UNEXPECTED + "  sim/x.cc:3: contract\n  broken: a < b (2 vs 1)\n")
        self.assertEqual((found.kind, found.sort), ("killed", ""))

    def test_by_what_the_executor_finds(self):
        found = self.fails(UNEXPECTED + EXECUTOR)
        self.assertEqual((found.kind, found.sort), ("killed", outcome.EXECUTOR))
        self.assertEqual(found.shown(), "race in kernel 'reference_decode': x.cuh:3: thread 1)")

    def test_paths_of_a_build_are_not_shown(self):
        path = "bazel-out/k8-opt/bin/verify/\n  qa/copies/sim/x.cc:3: "
        found = self.fails(f"  {{Unknown expression}}\n{UNEXPECTED}  {path}contract broken: a\n")
        self.assertEqual(found.shown(), "sim/x.cc:3: contract broken: a")

    def test_by_a_foreign_exception(self):
        for before in ("", "  CHECK( f() == 1 )\n", "  {Unknown expression after it}\n"):
            found = self.fails(before + FOREIGN)
            self.assertEqual(found.kind, "threw")
            self.assertIn("vector::_M_default_append", found.said)

    def test_by_an_assertion_of_another_case_behind_a_foreign_exception(self):
        first, second = HEAD + FOREIGN, HEAD.replace("budget", "end") + "  CHECK( a )\n"
        script = f"import sys\nif '--abort' in sys.argv:\n    print({first + TAIL!r})\n"
        script += f"else:\n    print({first + second + TAIL!r})\nraise SystemExit(2)"
        found = self.ends(script)
        self.assertEqual((found.kind, found.by), ("killed", "a prompt beyond the end"))

    def test_by_a_foreign_one_where_an_assertion_is_about_exceptions(self):
        for macro in ("CHECK_THROWS_AS( f(), ContractFailure )", "REQUIRE_NOTHROW( f() )"):
            self.assertEqual(self.fails(f"  {macro}\n{FOREIGN}").kind, "killed")

    def test_by_a_law_and_the_oracle(self):
        for name, sort in (("chunking", "law: chunking"), ("oracle", outcome.ORACLE)):
            found = self.fails(f"explicitly with message:\n  {name} on split-decode: out\n  0 1\n")
            self.assertEqual((found.kind, found.sort), ("killed", sort))

    def test_in_the_midst_of_a_law(self):
        thrown = "explicitly with message:\n  chunking on split-decode: a call failed\n"
        self.assertEqual(self.fails(thrown + "  std::bad_alloc\n").kind, "threw")
        found = self.fails(thrown + EXECUTOR)
        self.assertEqual((found.kind, found.sort), ("killed", outcome.EXECUTOR))

    def test_in_the_midst_of_a_property(self):
        falsified = "explicitly with message:\n  Falsifiable after 1 tests\n\n  0 at 0: 1 -> 2\n\n"
        thrown = falsified + "  Exception thrown with message:\n"
        self.assertEqual(self.fails(thrown + "  vector::reserve\n").kind, "threw")
        self.assertEqual(self.fails(thrown + "  x.cc:3: contract broken: a\n").kind, "killed")
        self.assertEqual(self.fails(falsified + "  RECTO_REQUIRE(a)\n").kind, "killed")

    def test_by_bounds_and_what_is_not_defined(self):
        for what, sort in outcome.INSTRUMENTED.items():
            found = self.ends(f"print('{what}: x.cc:3: i < size')\nraise SystemExit(1)")
            self.assertEqual((found.kind, found.sort), ("killed", sort))
            self.assertEqual(found.said, f"{what}: x.cc:3: i < size")

    def test_by_a_signal_that_catch2_tells(self):
        said = "due to a fatal error condition:\n  SIGSEGV - Segmentation violation signal\n"
        found = self.fails(said)
        self.assertEqual(found.kind, "crashed")
        self.assertEqual(found.said, "SIGSEGV - Segmentation violation signal")

    def test_by_a_signal_that_nobody_tells(self):
        found = self.ends("import os\nos.abort()")
        self.assertEqual((found.kind, found.said), ("crashed", "signal 6"))

    def test_by_an_exit_that_says_nothing(self):
        self.assertEqual(self.ends("raise SystemExit(3)").kind, "crashed")

    def test_by_the_clock(self):
        self.assertEqual(self.ends("while True: pass", seconds=1).kind, "clock")

    def test_by_the_clock_of_the_executor(self):
        stall = "has run for 60 seconds\n  without a barrier, a warp-wide or an atomic operation"
        found = self.fails(UNEXPECTED + EXECUTOR.replace("thread 1", f"thread 1 {stall}"))
        self.assertEqual(found.kind, "clock")

    def test_by_waiting_for_nothing(self):
        with mock.patch.object(outcome, "WAITING_SECONDS", 0.2):
            self.assertEqual(self.ends("import time; time.sleep(60)", seconds=50).kind, "crashed")
            child = "import subprocess; subprocess.run(['sleep', '1']); print('All tests passed')"
            self.assertEqual(self.ends(child, seconds=50).kind, "passed")

    def test_the_mutant_is_told_to_it(self):
        self.assertNotIn("RECTO_MUTANT", os.environ)
        found = self.ends("import os\nprint('All tests passed', os.environ['RECTO_MUTANT'])")
        self.assertIn("All tests passed 7", found.said)


if __name__ == "__main__":
    unittest.main()
