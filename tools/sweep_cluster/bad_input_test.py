#!/usr/bin/env python3
"""Tests that errors of the command line and of the scheduler are reported in time, by exit code."""

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from cluster_test_support import TOOL

RECTO = Path(sys.argv.pop(1)).resolve()
GRID = "--block-size 8,16 --requests 20".split()
LIMIT_S = 200  # the tool may take 30 s at first; the rest is for a busy machine


@contextlib.contextmanager
def server(answer):
    """The address of a server that sends this to each caller."""
    listener = socket.create_server(("127.0.0.1", 0))

    callers = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                callers.append(listener.accept()[0])
                with contextlib.suppress(OSError):
                    callers[-1].sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for one in (listener, *callers):
            one.close()


class BadInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def refused(self, *arguments, grid=GRID, out="out", code=2, recto=RECTO):
        command = [sys.executable, TOOL, "--recto", recto, "--out", out, *grid, *arguments]
        done = subprocess.run([str(part) for part in command], cwd=self.folder, text=True,
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_an_address_that_is_none(self):
        self.assertIn("--scheduler: nonsense: cannot be reached: Invalid url",
                      self.refused("--scheduler", "nonsense"))

    def test_a_port_that_nobody_listens_at(self):
        with socket.create_server(("127.0.0.1", 0)) as once:
            address = f"tcp://127.0.0.1:{once.getsockname()[1]}"
        err = self.refused("--scheduler", address, "--patience-s", "1")
        self.assertIn(f"--scheduler: {address}: cannot be reached: ", err)
        self.assertIn("2 of 2 runs are not done yet; call again to go on", err)

    def test_a_port_at_which_something_else_answers(self):
        with server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
            err = self.refused("--scheduler", address, "--patience-s", "1")
        self.assertIn(f"--scheduler: {address}: the program there is not a Dask scheduler", err)

    def test_a_port_at_which_nothing_is_said(self):
        with server(b"") as address:
            err = self.refused("--scheduler", address, "--patience-s", "1")
        self.assertIn(f"--scheduler: {address}: cannot be reached: ", err)

    def test_a_grid_that_is_none(self):
        (self.folder / "grid.json").write_text('{"axes": {"block_size": [0]}}')
        self.assertIn("grid.json", self.refused(grid=["--grid", "grid.json"]))
        self.assertIn("none.json: No such file", self.refused(grid=["--grid", "none.json"]))

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        self.assertIn("file: cannot make this folder: Not a directory",
                      self.refused(out="file"))

    def test_patience_that_is_no_time(self):
        self.assertIn("found nan; expected seconds", self.refused("--patience-s", "nan"))

    def script(self, text):
        """A program that runs this and continues as recto."""
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{text}\nexec '{RECTO}' \"$@\"\n")
        path.chmod(0o755)
        return path

    def test_a_program_that_is_no_recto(self):
        self.assertRegex(self.refused(recto="/bin/true"),
                         "--recto: /bin/true: --version says .*; expected recto and its version")
        self.assertIn("program: --version says nothing, exit code 0; expected recto",
                      self.refused(recto=self.script("exit 0")))
        self.assertIn("program: --version says recto 9, exit code 1; expected recto",
                      self.refused(recto=self.script("echo recto 9; exit 1")))
        self.assertFalse((self.folder / "out").exists())

    def test_a_recto_that_leaves_no_results(self):
        recto = self.script('case "$*" in *--collect*) exit 0;; esac')
        self.assertIn("program sweep --collect printed nothing; expected the runs that are left",
                      self.refused(recto=recto))
        recto = self.script(f"""case "$*" in *--collect*)
  '{RECTO}' "$@"; code=$?; rm -f out/manifest.json; exit $code;;
esac""")
        self.assertIn("out/manifest.json: was not written by", self.refused(recto=recto, code=1))

    def test_a_worker_whose_program_is_another_one_or_prints_nothing(self):
        recto = self.script("""case "$*" in *--runs*) exit 0;; esac""")
        self.assertIn("recto printed 0 of 1 runs and succeeded; expected all of them",
                      self.refused(recto=recto))
        recto = self.script("""if [ "$1" = --version ] && ! mkdir seen 2> /dev/null; then
  echo recto 9; exit 0
fi""")
        err = self.refused(recto=recto)
        self.assertRegex(err, r"program --version says recto 9, exit code 0; expected recto \d")
        self.assertEqual(err.count("recto 9"), 1)

    def test_flags_for_one_machine(self):
        for flag, value in (("--threads", "2"), ("--runs", "0"), ("--collect", None)):
            given = [flag] if value is None else [f"{flag}={value}"]
            self.assertIn(f"found {flag}; expected no such flag: ", self.refused(*given))
        self.assertIn("a worker has as many as it was started with",
                      self.refused("--threads", "2"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
