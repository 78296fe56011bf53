"""The command line, on trees on disk, with and without git."""

import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy
from case_tree import overlaid, source
from source_tree import Kind, SourceTree, kind_of


def write(root, texts):
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_tidy(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = tidy.main(["--root", str(self.root)])
        return status, output.getvalue()

    def test_a_clean_tree_exits_with_0(self):
        write(self.root, overlaid({}))
        status, output = self.run_tidy()
        self.assertEqual((status, output.count("\n")), (tidy.EXIT_CLEAN, 1))
        self.assertRegex(output, r"^tidy: \d+ files, 0 violations")

    def test_violations_are_printed_with_place_rule_and_remedy(self):
        write(self.root, overlaid(source("int x;\nvoid f() { throw 1; }\n")))
        status, output = self.run_tidy()
        self.assertEqual(status, tidy.EXIT_VIOLATIONS)
        self.assertRegex(output, r"^sim/pool\.cc:4: exception: `throw` \(return a Status .*\)\n")

    def test_a_folder_that_is_no_workspace_is_refused(self):
        status, output = self.run_tidy()
        self.assertEqual(status, tidy.EXIT_USAGE)
        self.assertIn("not the root of a workspace", output)

    def test_a_changed_file_is_seen_by_the_next_run(self):
        write(self.root, overlaid({}))
        self.assertEqual(self.run_tidy()[0], tidy.EXIT_CLEAN)
        write(self.root, overlaid(source("int x;")))
        self.assertEqual(self.run_tidy()[0], tidy.EXIT_VIOLATIONS)

    @unittest.skipUnless(shutil.which("git"), "git is not there")
    def test_what_git_ignores_is_not_looked_at_and_new_files_are(self):
        write(self.root, {"WORKSPACE": "", ".gitignore": "/out\n", "out/a.cc": "", "new.cc": ""})
        os.symlink("new.cc", self.root / "link.cc")
        subprocess.run(["git", "init", "--quiet", str(self.root)], check=True)
        paths = [file.path for file in SourceTree.of_folder(self.root)]
        self.assertEqual(paths, [".gitignore", "WORKSPACE", "new.cc"])

    def test_without_git_build_outputs_are_not_looked_at(self):
        texts = dict.fromkeys(("WORKSPACE", "bazel-out/a.cc", ".venv/b.py", ".ci/run", "c.cc"), "")
        write(self.root, texts)
        paths = [file.path for file in SourceTree.of_folder(self.root)]
        self.assertEqual(paths, [".ci/run", "WORKSPACE", "c.cc"])


class KindTest(unittest.TestCase):
    def test_kinds_go_by_name_and_by_first_line(self):
        for path, shebang, kind in (
            ("a/b.cuh", b"", Kind.CPP),
            ("BUILD", b"", Kind.BUILD),
            ("bazelw", b"#!/usr/bin/env bash", Kind.SHELL),
            ("tools/get", b"#!/usr/bin/env python3", Kind.PYTHON),
            ("LICENSE", b"", Kind.DATA),
            ("sim/testdata/a.py", b"", Kind.DATA),
            ("sim/vendored/a.js", b"", Kind.DATA),
            (".clang-tidy", b"", Kind.CONFIG),
        ):
            with self.subTest(path):
                self.assertEqual(kind_of(path, shebang), kind)


if __name__ == "__main__":
    unittest.main()
