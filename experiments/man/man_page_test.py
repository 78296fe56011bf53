#!/usr/bin/env python3
"""Tests of the manual page: complete, without warnings of groff, with all text of the help."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()


def printed(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def helps():
    """The help text of each command."""
    listed = printed("--help").split("Subcommands:\n")[1].split("\n\n")[0]
    names = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    return {name: printed(name, "--help") for name in names}


def words(text):
    """The text without differences that come from page width and table columns."""
    return re.sub(r"\s+", " ", text)


class ManPage(unittest.TestCase):
    page = printed("man")

    def test_its_sections(self):
        self.assertRegex(self.page, r'^\.TH RECTO 1 "(\d{4}-\d\d-\d\d)?" "recto ')
        built_by_git = "commit unknown" not in printed("--version")
        self.assertEqual('1 ""' not in self.page, built_by_git)
        sections = re.findall(r"^\.SH (.*)$", self.page, re.MULTILINE)
        self.assertEqual(sections, ["NAME", "SYNOPSIS", "OPTIONS", "COMMANDS", "NOTES"])
        commands = re.findall(r"^\.SS recto (.*)$", self.page, re.MULTILINE)
        self.assertEqual(commands, list(helps()))

    def test_each_flag_stands_in_the_section_of_its_command(self):
        parts = dict(zip(helps(), self.page.split("\n.SS ")[1:]))
        for command, text in helps().items():
            # Options whose texts have forms of their own are explained again at the end.
            flags = set(re.findall(r"^  (?:-h,)?(--[a-z][a-z0-9-]*)", text, re.MULTILINE))
            for flag in flags:
                self.assertIn(rf"\fB{flag}\fR".replace("-", r"\-"), parts[command], command)
            self.assertEqual(parts[command].count("\n.TP\n"), len(flags) + ("Positionals" in text))

    def test_no_line_is_a_request_by_accident(self):
        known = {"TH", "SH", "SS", "PP", "TP", "nf", "fi", "nh", "ad"}
        for line in self.page.splitlines():
            self.assertFalse(line.startswith("'"), line)
            if line.startswith("."):
                self.assertIn(re.match(r"\.(\w*)", line)[1], known, line)

    def test_lines_of_paragraphs_are_short(self):
        paragraphs = re.sub(r"^\.nf$.*?^\.fi$", "", self.page, flags=re.MULTILINE | re.DOTALL)
        self.assertEqual([one for one in paragraphs.splitlines() if len(one) > 80], [])

    def test_mandoc_has_no_complaint(self):
        if shutil.which("mandoc") is None:
            print("SKIPPED: mandoc -T lint of the manual page: there is no mandoc here")
            self.skipTest("no mandoc")
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "style"], input=self.page,
                              capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(said, [])

    def test_groff_has_no_complaint(self):
        if shutil.which("groff") is None:
            print("SKIPPED: groff on the manual page: there is no groff here")
            self.skipTest("no groff")
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tascii", "-P-cbou"],
            input=self.page,
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = words(done.stdout)
        for command, text in helps().items():
            examples = text.split("Examples:\n")[1]
            self.assertIn(words(examples).strip(), shown, command)

    def test_man_shows_it(self):
        if shutil.which("man") is None:
            print("SKIPPED: man -l of the manual page: there is no man here")
            self.skipTest("no man")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "recto.1")
            path.write_text(self.page)
            done = subprocess.run(["man", "-l", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RECTO(1)", done.stdout)


if __name__ == "__main__":
    unittest.main()
