#!/usr/bin/env python3
"""Tests that each rule finds its cases, that no other rule reports them, and of the messages."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import compiler_checks
import tidy
from tidy import NAMES, violations_of
from tidy_test_cases import CLEAN, HEADERS, SOURCES, TREES, header, source
from tree import File, Tree

_ROWS = [f"| a rule | `tidy:{rule}` |" for rule in NAMES]
STYLE = "\n".join(["# Style", "", "| rule | enforced by |", "|---|---|", *_ROWS, ""])


def overlaid(overlay):
    """The clean tree with some files replaced, added, or removed (None)."""
    texts = {**CLEAN, "STYLE.md": STYLE, **overlay}
    return {path: text for path, text in texts.items() if text is not None}


def rules_broken(overlay):
    texts = sorted(overlaid(overlay).items())
    return {found.rule for found in violations_of(Tree((p, File(p, t.encode())) for p, t in texts))}


def cases(which):
    """(rule, overlay) of all that must pass (0) or fail (1)."""
    for make, table in ((source, SOURCES), (header, HEADERS), (dict, TREES)):
        for rule, columns in table.items():
            yield from ((rule, make(each)) for each in columns[which])


class CasesTest(unittest.TestCase):
    def test_every_rule_has_cases_that_fail_and_cases_that_pass(self):
        self.assertEqual(rules_broken({}), set())
        self.assertEqual({rule for rule, _ in cases(1)}, set(NAMES) - {"style-map"})
        without_passes = {"style-map", "allowed", "pragma-once"}
        self.assertEqual({rule for rule, _ in cases(0)}, set(NAMES) - without_passes)

    def test_what_must_pass_passes_every_rule(self):
        for rule, overlay in cases(0):
            with self.subTest(rule, overlay=overlay):
                self.assertEqual(rules_broken(overlay), set())

    def test_what_must_fail_is_seen_by_its_rule_alone(self):
        for rule, overlay in cases(1):
            with self.subTest(rule, overlay=overlay):
                self.assertEqual(rules_broken(overlay), {rule})

    def test_style_map(self):
        for row in ("`clang-tidy:readability-names`, `compiler:-Werror`", "review"):
            self.assertEqual(rules_broken({"STYLE.md": f"{STYLE}| x | {row} |\n"}), set(), row)
        rows = ("`tidy:invented`", "nothing", "`clang-tidy:misc-names`", "`compiler:-Wall`")
        wrong = [f"{STYLE}| x | {row} |\n" for row in rows]
        for text in (*wrong, None, STYLE.replace("tidy:exception", ""), STYLE + "line\n" * 120):
            self.assertEqual(rules_broken({"STYLE.md": text}), {"style-map"})


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, texts):
        for path, text in texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def run_tidy(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = tidy.main(["--root", str(self.root)])
        return status, output.getvalue()

    def test_violations_are_printed_with_place_rule_and_remedy(self):
        self.write(overlaid(source("int x;\nvoid f() { throw 1; }")))
        status, output = self.run_tidy()
        self.assertEqual(status, 1)
        self.assertRegex(output, r"^sim/pool\.cc:4: exception: `throw` \(return a Status .*\)\n")

    def test_a_clean_tree_exits_with_0_and_a_folder_that_is_no_workspace_with_2(self):
        self.assertEqual(self.run_tidy()[0], 2)
        self.write(overlaid({}))
        status, output = self.run_tidy()
        self.assertEqual((status, output.count("\n")), (0, 1), output)

    def test_what_git_ignores_is_not_looked_at_and_new_files_are(self):
        self.write({"WORKSPACE": "", ".gitignore": "/out\n", "out/a.cc": "", "new.cc": ""})
        os.symlink("new.cc", self.root / "link.cc")
        subprocess.run(["git", "init", "--quiet", str(self.root)], check=True)
        self.assertEqual(list(Tree.of_folder(self.root)), [".gitignore", "WORKSPACE", "new.cc"])

    def test_without_git_build_outputs_are_not_looked_at(self):
        paths = ("WORKSPACE", "bazel-out/a.cc", ".venv/b.py", ".ci/run", ".bazelrc", "c.cc")
        self.write(dict.fromkeys(paths, ""))
        left = [".bazelrc", ".ci/run", "WORKSPACE", "c.cc"]
        self.assertEqual(list(Tree.of_folder(self.root)), left)

    @unittest.skipUnless(compiler_checks.shutil.which("g++"), "g++ is not there")
    def test_a_header_that_needs_another_or_has_no_guard_does_not_compile_alone(self):
        once = "#pragma once\n"
        self.write({"a.h": once + "struct A {};", "b.h": once + "A b;", "c.h": "struct C {};"})
        error_of = compiler_checks.error_of_header
        errors = [str(error_of(name, self.root)) for name in ("a.h", "b.h", "c.h")]
        self.assertEqual([error[:5] for error in errors], ["None", "b.h:2", "c.h:1"], errors)

    def test_kinds_go_by_name_folder_and_first_line(self):
        expected = {"a/b.cuh": "header", "a/b.cu": "c++", "BUILD": "build", "a.md": "markdown"}
        expected |= {".clang-tidy": "config"}
        expected |= {"LICENSE": "data", "sim/testdata/a.py": "data", "sim/vendored/a.js": "data"}
        self.assertEqual({path: File(path, b"").kind for path in expected}, expected)
        self.assertEqual(File("bazelw", b"#!/usr/bin/env bash").kind, "shell")
        self.assertEqual(File("tools/get", b"#!/usr/bin/env python3\n").kind, "python")


if __name__ == "__main__":
    unittest.main()
