#!/usr/bin/env python3
"""find_cublas.py in folders laid out as packages and toolkits install cuBLAS."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path("tools/gpu_bundle/find_cublas.py").resolve()


class FindCublas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lay(self, path):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        return str(file.parent)

    def found(self, *folders):
        done = subprocess.run([sys.executable, PROGRAM, *(self.folder / one for one in folders)],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.rstrip("\n")

    def test_packages_of_either_cuda_and_toolkits(self):
        self.lay("empty/other.so")
        self.assertEqual(self.found("empty", "none"), "")
        twelve = self.lay("twelve/nvidia/cublas/lib/libcublas.so.12")
        self.assertEqual(self.found("empty", "twelve"), twelve)
        toolkit = self.lay("toolkit/libcublas.so.13")
        self.assertEqual(self.found("twelve", "toolkit"), toolkit)
        thirteen = self.lay("thirteen/nvidia/cu13/lib/libcublas.so.13")
        self.assertEqual(self.found("thirteen", "toolkit"), thirteen)


if __name__ == "__main__":
    unittest.main()
