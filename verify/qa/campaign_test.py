#!/usr/bin/env python3
"""What is tried on a mutant, and in which order. Each law is tried by itself, and `recto verify`
gets what any of its checks saw. A campaign goes on where it was ended, with results of the same
commit, written whole. Programs here are scripts, which print what the trials do.
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import campaign  # noqa: E402
from journal import Journal  # noqa: E402

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
    verifies = ["finder: oracle*"]

    def __init__(self, folder, script):
        self.path = Path(folder) / "program"
        text = f"#!{sys.executable}\n{PRELUDE}{script}{WELL}"
        self.path.write_text(text, encoding="utf-8")
        self.path.chmod(0o755)


def alone_under(script):
    with tempfile.TemporaryDirectory() as folder:
        program = Fake(folder, script)
        return campaign.try_alone(program, 7, campaign.laws_of([program]), 60)


class Order(unittest.TestCase):
    def setUp(self):
        self.program = campaign.Program.__new__(campaign.Program)
        self.program.groups = {
            "first": ["[#a_test],[#b_test]"],
            "second": ["finder: x", "[#kv_test]"],
            "tests of known bugs": ["[#bugs_test]"],
        }
        self.program.preferred = [("z\\.cuh", ["tests of known bugs", "second"])]

    def specs(self, mutant, left_out=()):
        return [spec for _, spec in self.program.processes_for(mutant, left_out)]

    def test_a_files_own_test_is_first_then_preferred_groups(self):
        own = self.specs({"place": "cuda/kernels/kv.cu:7"})
        self.assertEqual(own, ["[#kv_test]", "[#a_test],[#b_test]", "finder: x", "[#bugs_test]"])
        preferred = self.specs({"place": "z.cuh:1"}, ["first"])
        self.assertEqual(preferred, ["[#bugs_test]", "finder: x", "[#kv_test]"])

    def test_what_has_to_find_a_mutant_is_tried_alone(self):
        mutant = {"place": "z.cuh:1", "source": "a-bug", "found_by": "second"}
        self.assertEqual(self.specs(mutant), ["finder: x", "[#kv_test]"])
        mutant["found_by"] = campaign.KNOWN_BUGS
        self.assertEqual(self.specs(mutant), ["a-bug: *"])

    def test_what_is_begun_with_is_a_group(self):
        for name, program in campaign.PROGRAMS.items():
            preferred = [group for _, groups in program.get("preferred", []) for group in groups]
            begun = {*preferred, *program.get("long", [])}
            self.assertLessEqual(begun, program["groups"].keys(), name)

    def test_files_of_one_process_are_one_specification(self):
        files = ["//sim:a_test.cc", "//sim/time:b_test.cc"]
        self.assertEqual(campaign.spec_of(files), "[#a_test],[#b_test]")
        self.assertEqual(campaign.spec_of(["finder: laws*"]), "finder: laws*")


class Alone(unittest.TestCase):
    def test_names_of_laws_are_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            names = campaign.laws_of([Fake(folder, "")])
        self.assertEqual(names, ["chunking", "history", "oracle"])

    def test_nothing_is_seen(self):
        self.assertEqual(alone_under(""), {"verify": "passed", "said": "", "laws": []})

    def test_every_law_is_tried_whoever_was_first(self):
        found = alone_under("if law: fail(f'explicitly with message:\\n  {law} on a-kernel: out')")
        self.assertEqual(found["laws"], ["chunking", "history", "oracle"])
        self.assertEqual(found["verify"], "killed")
        self.assertIn("chunking on a-kernel", found["said"])

    def test_what_a_law_is_put_to_is_none_of_its_kills(self):
        heading = "history on a-kernel: a call failed"
        said = f"explicitly with message:\\n  {heading}\\n  contract broken: a"
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


class Journals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "journal.jsonl"

    def test_what_was_added_is_known_again(self):
        Journal(self.path, "abc").add({"name": "a:1", "ours": "killed"})
        Journal(self.path, "abc").add({"name": "b:2", "ours": "passed"})
        again = Journal(self.path, "abc")
        self.assertEqual(again.results.get("a:1"), {"name": "a:1", "ours": "killed"})
        self.assertEqual(again.results.get("b:2"), {"name": "b:2", "ours": "passed"})
        self.assertIsNone(again.results.get("c:3"))

    def test_another_commit_knows_nothing_of_it(self):
        Journal(self.path, "abc").add({"name": "a:1"})
        self.assertIsNone(Journal(self.path, "def").results.get("a:1"))

    def test_the_time_of_earlier_parts_counts(self):
        first = Journal(self.path, "abc")
        first.earlier = 100.0
        first.add({"name": "a:1"})
        self.assertGreaterEqual(Journal(self.path, "abc").seconds(), 100.0)
        self.assertLess(Journal(self.path, "def").seconds(), 100.0)

    def test_a_torn_line_is_dropped_and_the_next_one_is_whole(self):
        Journal(self.path, "abc").add({"name": "a:1"})
        with self.path.open("a", encoding="utf-8") as file:
            file.write('{"built_from": "abc", "resu')
        torn = Journal(self.path, "abc")
        self.assertEqual(list(torn.results), ["a:1"])
        torn.add({"name": "b:2"})
        self.assertEqual(list(Journal(self.path, "abc").results), ["a:1", "b:2"])

    def test_without_a_path_nothing_is_kept(self):
        journal = Journal(None, "abc")
        journal.add({"name": "a:1"})
        self.assertIsNone(journal.results.get("a:1"))


if __name__ == "__main__":
    unittest.main()
