#!/usr/bin/env python3
"""The package has types: mypy finds nothing, strictly. Its syntax is that of Python 3.9.

    typing_test.py RECTO_KERNELS INIT_PY
"""

import ast
import subprocess
import sys
import unittest
from pathlib import Path

PACKAGE = Path(sys.argv[2]).resolve().parent


class Typing(unittest.TestCase):
    def test_mypy_finds_nothing(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            print("SKIPPED: mypy is not installed")
            self.skipTest("no mypy")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", PACKAGE.parent / "pyproject.toml",
             "--cache-dir", "/dev/null", PACKAGE],
            capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_oldest_python_can_read_it(self):
        for path in PACKAGE.glob("*.py"):
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))

    def test_the_package_says_that_it_has_types(self):
        self.assertTrue((PACKAGE / "py.typed").is_file())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
