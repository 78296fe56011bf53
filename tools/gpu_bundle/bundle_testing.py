"""A base class for tests of a bundle: makes a bundle from given programs, and runs it in an empty
folder."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True


class BundleCase(unittest.TestCase):
    script = None  # the path of gpu_bundle.sh, given to the test

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.work = self.folder / "work"
        self.work.mkdir()

    def make(self, programs):
        out = self.folder / "bundle"
        done = subprocess.run([self.script, "--out", out, "--programs", *programs],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def run_bundle(self, bundle, *flags, env=None):
        """Runs the bundle in an empty folder, by default in one share with an empty environment."""
        command = [bundle / "run.sh", "--jobs", "1", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=env or {}, cwd=self.work)
        return done.returncode, done.stdout, done.stderr

    def fake(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path
