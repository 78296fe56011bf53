#!/usr/bin/env python3
"""Tests that an interrupted `recto verify` leaves no folder, no process, and exits by the signal.

    interrupted_test.py RECTO LIBRARY SCRIPT...
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, LIBRARY, *SCRIPTS = (Path(one).resolve() for one in sys.argv[1:])
# It says which process it is, and never ends.
COMPILER = '#!/bin/sh\necho $$ >>"$STARTED"\nexec sleep 1000\n'
PATIENCE_S = 60


def wait_for(what):
    """What is found, once there is something."""
    for _ in range(PATIENCE_S * 100):
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("nothing came")


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Interrupted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.started = self.folder / "started"
        self.started.touch()

    def make_kit(self):
        """As recto finds it, with a compiler that is slow."""
        kit = self.folder / "kit"
        kit.mkdir()
        for script in SCRIPTS:
            shutil.copy(script, kit)
        compiler = self.folder / "compiler"
        compiler.write_text(COMPILER)
        compiler.chmod(0o755)
        (kit / "flags.json").write_text(json.dumps({
            "compiler": str(compiler), "copts": [], "linkopts": [], "include_folders": []}))
        return kit

    def start(self, *arguments, **variables):
        return subprocess.Popen(
            [PROGRAM, "verify", "--out", self.folder / "failing", *arguments],
            env=dict(os.environ, TMPDIR=str(self.temporary), STARTED=str(self.started),
                     **variables),
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def check_end(self, running, number, processes):
        """Sends the signal to the program's group, as a terminal does."""
        for process in processes:
            self.assertTrue(is_running(process))
        os.killpg(running.pid, number)
        running.communicate(timeout=PATIENCE_S)
        self.assertEqual(running.returncode, -number)
        wait_for(lambda: not any(map(is_running, processes)))
        wait_for(lambda: not any(self.temporary.iterdir()))

    def test_while_compilers_run(self):
        kit = self.make_kit()
        for name in ("mine.cu", "adapter.cc"):
            (self.folder / name).write_text("int x;\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            self.started.write_text("")
            running = self.start("--cuda", self.folder / "mine.cu", "--adapter",
                                 self.folder / "adapter.cc", RECTO_CUDA_KIT=str(kit),
                                 RECTO_NVCC=str(self.folder / "compiler"))
            compilers = wait_for(lambda: self.started.read_text().split())
            self.assertTrue(any(self.temporary.iterdir()))
            self.check_end(running, number, compilers)

    def test_while_a_library_runs(self):
        running = self.start("--kernel", LIBRARY)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        self.check_end(running, signal.SIGINT, wait_for(lambda: children.read_text().split()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
