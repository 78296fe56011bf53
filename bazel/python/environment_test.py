#!/usr/bin/env python3
"""Tests how environment.sh and bazelw find or make a Python with packages, and run without one.

Bazel and python3 are fakes: nothing is installed.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

ENVIRONMENT = Path("bazel/python/environment.sh")
BAZELW = Path.cwd() / "bazelw"
REASON = "ERROR: Could not find a version that satisfies the requirement asttokens"

# Makes an environment whose interpreter does $PIP instead of what pip does.
PYTHON = """#!/bin/bash
if [[ $1 == -c ]]; then
  [[ $2 == *sys.executable* ]] && echo "/a/python3 3.99.1"
  exit 0
fi
echo made >>"$RECORDS/made"
mkdir -p "$3/bin"
echo "#!$3/bin/python" >"$3/bin/script"
printf '#!/bin/bash\\n%s\\n' "$PIP" >"$3/bin/python"
chmod +x "$3/bin/python"
"""
BAZEL = """#!/bin/bash
[[ $1 != query ]] || { echo "$LABELS"; exit; }
echo "$*: python ${RECTO_PYTHON:-none}, why ${RECTO_PYTHON_WHY_NONE:-untold}"
"""


class Environment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.caches = self.folder / "caches" / "recto"
        programs = self.folder / "programs"
        programs.mkdir()
        for name, text in {"python3": PYTHON, "bazel": BAZEL}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.variables = {"PATH": f"{programs}:{os.environ['PATH']}", "RECORDS": str(self.folder),
                          "XDG_CACHE_HOME": str(self.folder / "caches"), "PIP": "exit 0",
                          "LABELS": ""}

    def start(self, *command, **changes):
        return subprocess.Popen([str(word) for word in command], text=True,
                                env=self.variables | changes, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_(self, *command, **changes):
        process = self.start(*command, **changes)
        printed, complaint = process.communicate()
        return process.returncode, printed.strip(), complaint.strip()

    def made(self):
        """The number of times that an environment was begun."""
        record = self.folder / "made"
        return len(record.read_text().splitlines()) if record.exists() else 0

    def left(self):
        """The contents of the cache, except locks."""
        found = self.caches.glob("*") if self.caches.exists() else []
        return [path.name for path in found if path.suffix != ".lock"]

    def test_it_is_made_once_and_whole(self):
        status, path, complaint = self.run_(ENVIRONMENT, "make")
        self.assertEqual((status, complaint), (0, ""))
        self.assertTrue(os.access(path, os.X_OK))
        script = Path(path).with_name("script").read_text()
        self.assertEqual(script, f"#!{path}\n")
        self.assertEqual(self.run_(ENVIRONMENT, "make"), (0, path, ""))
        self.assertEqual(self.run_(ENVIRONMENT, "path"), (0, path, ""))
        self.assertEqual(self.made(), 1)

    def test_pip_that_fails_leaves_its_reason_and_nothing_else(self):
        pip = f"echo '{REASON}'; echo '[notice] a newer pip' >&2; exit 1"
        self.assertEqual(self.run_(ENVIRONMENT, "make", PIP=pip), (1, "", REASON))
        self.assertEqual(self.left(), [])
        self.assertEqual(self.run_(ENVIRONMENT, "make")[0], 0)

    def test_a_cache_that_cannot_be_written_is_the_reason(self):
        (self.folder / "caches").write_text("a file")
        status, _, complaint = self.run_(ENVIRONMENT, "make")
        self.assertEqual(status, 1)
        self.assertIn("caches", complaint)

    def test_what_was_killed_is_made_anew(self):
        killed = self.start(ENVIRONMENT, "make", PIP="echo half >${0%/*}/half; sleep 60")
        while not list(self.caches.glob("*.making/bin/half")):
            self.assertIsNone(killed.poll())
            time.sleep(0.02)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        self.assertEqual(len(self.left()), 1)
        status, path, _ = self.run_(ENVIRONMENT, "make")
        self.assertEqual(status, 0)
        self.assertEqual(self.left(), [Path(path).parent.parent.name])
        self.assertFalse(Path(path).with_name("half").exists())

    def test_two_at_once_make_one(self):
        both = [self.start(ENVIRONMENT, "make", PIP="sleep 0.3") for _ in range(2)]
        paths = {process.communicate()[0] for process in both}
        self.assertEqual(([process.returncode for process in both], len(paths)), ([0, 0], 1))
        self.assertEqual(self.made(), 1)

    def test_bazelw_goes_on_without_it_and_says_why(self):
        status, printed, complaint = self.run_(BAZELW, "test", "//...", LABELS="//a:test",
                                               PIP=f"echo '{REASON}'; exit 1")
        self.assertEqual(status, 0)
        self.assertEqual(printed, f"test //...: python none, why {REASON}")
        self.assertEqual(complaint.splitlines()[-1],
                         f"bazelw: no Python packages, what needs them is skipped: {REASON}")

    def test_bazelw_makes_it_for_tests_that_need_it(self):
        _, printed, _ = self.run_(BAZELW, "test", "//...", LABELS="//a:test")
        path = self.run_(ENVIRONMENT, "path")[1]
        self.assertEqual(printed, f"test //...: python {path}, why untold")
        self.assertEqual(self.made(), 1)

    def test_bazelw_makes_it_for_plots(self):
        self.run_(BAZELW, "run", "//experiments:recto", "--", "plot", "out")
        self.assertEqual(self.made(), 1)

    def test_bazelw_makes_it_for_nothing_else(self):
        for command in (["build", "//..."], ["test", "//a:needs_none"], ["info"], [],
                        ["run", "//experiments:recto", "--", "fragmentation"]):
            status, printed, complaint = self.run_(BAZELW, *command)
            expected = f"{' '.join(command)}: python none, why untold"
            self.assertEqual((status, printed, complaint), (0, expected, ""))
        self.assertEqual(self.made(), 0)

    def test_bazelw_hands_on_what_is_there(self):
        path = self.run_(ENVIRONMENT, "make")[1]
        self.assertEqual(self.run_(BAZELW, "--batch", "build", "//..."),
                         (0, f"--batch build //...: python {path}, why untold", ""))

    def test_bazelw_runs_python_or_fails(self):
        status, _, complaint = self.run_(BAZELW, "python", PIP=f"echo '{REASON}'; exit 1")
        self.assertEqual(status, 1)
        self.assertIn(REASON, complaint)
        self.assertEqual(self.run_(BAZELW, "python", "a", "b", PIP='[[ $1 == -m ]] || echo "$@"')
                         [:2], (0, "a b"))

    def test_a_python_of_ones_own_is_taken(self):
        printed = self.run_(BAZELW, "build", RECTO_PYTHON="/bin/sh")[1]
        self.assertEqual(printed, "build: python /bin/sh, why untold")
        status, _, complaint = self.run_(BAZELW, "build", RECTO_PYTHON="/no/python")
        self.assertEqual((status, complaint), (1, "bazelw: RECTO_PYTHON is no program: /no/python"))


if __name__ == "__main__":
    unittest.main()
