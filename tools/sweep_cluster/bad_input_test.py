#!/usr/bin/env python3
"""Errors on the tool's command line, or at the other end, are reported in time, by exit code."""

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from trial_cluster import TOOL

RECTO = Path(sys.argv.pop(1)).resolve()
GRID = "--block-size 8,16 --requests 20".split()
LIMIT_S = 200  # of which the tool may take its 30 at first; the rest is for a busy machine


@contextlib.contextmanager
def server(answer):
    """The address of one that says this to each caller, whatever it is asked."""
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

    def refused(self, *arguments, grid=GRID, out="out", code=2):
        command = [sys.executable, TOOL, "--recto", RECTO, "--out", out, *grid, *arguments]
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
        self.assertIn(f"--scheduler: {address}: what answers there is no Dask scheduler", err)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
