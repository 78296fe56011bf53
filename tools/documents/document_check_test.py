#!/usr/bin/env python3
"""Each command of a document is run, checked or skipped, and errors are reported."""

import sys
import tempfile
import unittest
from pathlib import Path

from bazel_commands import BazelCommands
from command_blocks import commands_of
from document_check import BadList, DocumentCheck, Lists, is_program, read_list
from workplace import KIT, Machine, Workplace

# A program that knows `recto go --fast`, and stops at any other flag as recto does.
PROGRAM = """#!/usr/bin/env bash
shift
while [[ $# != 0 ]]; do
  case $1 in
    --fast) ;; --help) echo "  --fast   quickly"; exit 0 ;;
    --out) shift; out=$1 ;;
    *) echo "recto: $1: no such flag" >&2; exit 2 ;;
  esac
  shift
done
[[ -z $out ]] || mkdir -- "$0.$out"
echo one; echo two
"""


class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name, "root")
        self.root.mkdir()
        (self.root / "kept.txt").write_text("kept\n")
        (self.root / "bazelw").write_text('#!/bin/sh\nshift; exec "$RECTO_PYTHON" "$@"\n')
        (self.root / "bazelw").chmod(0o755)
        self.program = Path(self.folder.name, "program")
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def entries(self, name, text):
        path = Path(self.folder.name, name)
        path.write_text(text)
        return read_list(path)

    def check(self, text, presupposed="", slow="", not_run="", **machine):
        machine = Machine(self.program, **machine)
        lists = Lists(
            self.entries("presupposed.txt", presupposed),
            self.entries("slow.txt", slow),
            self.entries("not_run.txt", not_run),
        )
        commands = list(commands_of("d.md", text, is_program))
        place = Path(tempfile.mkdtemp(dir=self.folder.name))
        workplace = Workplace(place, ["kept.txt", "bazelw"], self.root, machine)
        targets = 'recto_binary(name = "recto")\nrecto_binary(name = "recto_kernels")'
        bazel = BazelCommands({"experiments": targets}, "", "")
        check = DocumentCheck(bazel, lists, machine)
        check.check("d.md", commands, workplace)
        self.assertEqual((place / "kept.txt").read_text(), "kept\n")
        self.assertFalse((place / "a").exists())
        self.unused = lists.unused()
        return check

    def test_what_is_right(self):
        tally = self.check(
            "`recto go --fast`\n`./bazelw run //experiments:recto -- go --fast`\n"
            "```sh\nrecto go --fast\nrecto go --slow # exit code 2\ncat a\n```\n"
            "<!-- printed by: recto go -->\n```\none\ntwo\n```\n"
            "<!-- printed in part by: recto go -->\n```\ntwo\n```\n",
            presupposed="d.md | a | copy kept.txt\n",
        )
        self.assertEqual(tally.errors, [])
        self.assertEqual(tally.counts, {"run": 5, "checked": 2})
        self.assertEqual(self.unused, [])

    def test_what_is_wrong(self):
        for text, expected in (
            ("```sh\nrecto go --slow\n```\n", "exit code 2, expected 0"),
            ("```sh\nrecto go # exit code 1\n```\n", "exit code 0, expected 1"),
            ("`recto go --slow`\n", "--slow: is not in the help"),
            ("`recto go slow`\n", "slow: no such flag"),
            ("```sh\nfrobnicate\n```\n", "frobnicate: has no class"),
            ("```\nunzip -p a\n```\n", "d.md:2: unzip -p a\n    unzip: has no class"),
            ("a\n\n    made/run.sh\n", "d.md:3: made/run.sh\n    made/run.sh: has no class"),
            ("```shel\nfrobnicate\n```\n", "one of cpp, json, python, text"),
            ("`time recto go --slow`\n", "--slow: is not in the help"),
            ("    time recto go --slow\n", "exit code 2, expected 0"),
            ("    recto go $(frobnicate)\n", "frobnicate: has no class"),
            ("```sh\nrecto go | frobnicate\n```\n", "frobnicate: has no class"),
            ("```sh\nrecto 'go\n```\n", "not valid shell"),
            ("```sh\ncat a\n```\n", "exit code 1, expected 0"),
            ("```sh\n./bazelw build //a\n```\n", "//a: no such target"),
            ("`./bazelw run //experiments:recto -- go --slow`\n", "--slow: is not in the help"),
            ("`./bazelw run //experiments:recto_kernels -- go slow`\n", "slow: no such flag"),
            ("`bazel-bin/experiments/recta go`\n", "//experiments:recta: no such target"),
            ("```sh\ncat /dev/null > kept.txt\n```\n", "its commands write kept.txt with"),
            ("<!-- printed by: recto go -->\n```\none\n```\n", "1 lines; printed are 2"),
            ("<!-- printed by: recto go -->\n```\none\nTWO\n```\n", "line 2 of the block"),
            ("<!-- printed in part by: recto go -->\n```\ntwo\none\n```\n", "does not print"),
        ):
            errors = self.check(text).errors
            self.assertEqual(len(errors), 1, text)
            self.assertIn(expected, errors[0])

    def test_a_flag_of_the_text_without_its_value_runs_nothing(self):
        self.assertEqual(self.check("`recto go --out`\n").errors, [])
        self.assertEqual(sorted(Path(self.folder.name).glob("program*")), [self.program])

    def test_lists(self):
        text = "```sh\nrecto go --fast\nfrobnicate all\n```\n"
        slow, not_run = "d.md | recto go --fast | long\n", "d.md | frobnicate * | no\n"
        tally = self.check(text, slow=slow, not_run=not_run)
        self.assertEqual((tally.errors, self.unused), ([], []))
        self.assertEqual(tally.counts, {"checked": 1, "put off": 1, "skipped": 1})
        self.assertEqual(len(tally.remarks), 2)
        tally = self.check(text, slow=slow.replace("fast", "slow"), not_run="e" + not_run[1:])
        self.assertEqual(len(tally.errors), 1)
        self.assertEqual(len(self.unused), 2)
        tally = self.check("```sh\ncat a\n```\n", presupposed="d.md | a | copy nothing\n")
        self.assertIn("presupposed.txt:1: there is no nothing", tally.errors[0])
        with self.assertRaisesRegex(BadList, "bad.txt:1: expected DOCUMENT"):
            self.entries("bad.txt", "d.md | a\n")

    def test_what_needs_packages_is_run_where_they_are(self):
        text = "```sh\n./bazelw python kept.py b # exit code 3\n```\n"
        presupposed = "d.md | kept.py | run echo 'raise SystemExit(3)' > kept.py\n"
        tally = self.check(text, presupposed, python=Path(sys.executable))
        self.assertEqual((tally.errors, tally.counts), ([], {"run": 1}))
        tally = self.check("```sh\n./bazelw python no.py\nrecto plot --fast\n```\n")
        self.assertEqual(len(tally.errors), 1)
        self.assertIn("no.py: there is no such script", tally.errors[0])
        self.assertEqual(tally.counts, {"checked": 2, "put off": 2})
        self.assertEqual(len(tally.remarks), 2)
        self.assertIn("not run: there is no Python with packages here", tally.remarks[0])

    def test_what_needs_the_kit_finds_it_where_recto_looks(self):
        for flag in ("--cuda a.cu", "--adapter b.cc"):
            self.assertIn("no kit", Machine(self.program).lacks(f"X=1 recto verify {flag}"))
        kit = Path(self.folder.name, "kit")
        kit.mkdir()
        machine = Machine(self.program, kit)
        self.assertIsNone(machine.lacks("recto verify --cuda a.cu"))
        tally = self.check(f"```sh\ncp kept.txt {KIT}/\n```\n", kit=kit)
        self.assertEqual(tally.errors, [])
        self.assertTrue((kit / "kept.txt").exists())


if __name__ == "__main__":
    unittest.main()
