#!/usr/bin/env python3
"""Runs the examples. What they need is skipped where it is not installed, with the reason.

    examples_test.py RECTO_KERNELS INIT_PY FIRST_STEPS_PY

RECTO_PYTHON may name an interpreter that has more packages.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS = Path(sys.argv[1]).resolve().parent
PACKAGE = Path(sys.argv[2]).absolute().parents[1]
EXAMPLES = Path(sys.argv[3]).absolute().parent
PYTHON = os.environ.get("RECTO_PYTHON") or sys.executable


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def python(self, *arguments, path=(), **variables):
        """Its exit code and output, in an empty folder."""
        places = ":".join(map(str, [*path, PACKAGE, EXAMPLES]))
        environment = {**os.environ, "RECTO_PROGRAMS": str(PROGRAMS), "PYTHONPATH": places,
                       "PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = subprocess.run([PYTHON, *arguments], cwd=self.folder, env=environment,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def skip_without(self, *packages):
        for package in packages:
            code, said = self.python("-c", f"import {package}")
            if code != 0:
                reason = f"{package}: {said.strip().splitlines()[-1]}"
                print(f"SKIPPED: {self._testMethodName}: {reason}")
                self.skipTest(reason)

    def expect_passing(self, name, **words):
        code, said = self.python(EXAMPLES / name, **words)
        self.assertEqual(code, 0, said)
        return said

    def copy(self, name, old, new):
        """An example with another text in place of one."""
        text = (EXAMPLES / name).read_text()
        self.assertIn(old, text)
        (self.folder / name).write_text(text.replace(old, new))

    def test_first_steps(self):
        said = self.expect_passing("first_steps.py")
        self.assertIn("the window is one key too wide", said)
        self.assertRegex(said, r"the right kernel passed \d+ checks")

    def test_triton_without_pytorch(self):
        self.skip_without("triton")
        (self.folder / "torch.py").write_text("raise ImportError('not in this test')\n")
        said = self.expect_passing("triton_decode.py", path=[self.folder])
        self.assertIn("nothing failed", said)

    def test_triton_with_pytorch(self):
        self.skip_without("triton", "torch")
        self.assertIn("nothing failed", self.expect_passing("triton_decode.py"))

    def test_a_wrong_triton_kernel_is_found(self):
        self.skip_without("triton")
        self.copy("triton_kernel.py", "(keys > length - 1 - window)",
                  "(keys >= length - 1 - window)")
        self.copy("triton_decode.py", "cases=24", "cases=8")
        code, said = self.python("triton_decode.py")
        self.assertEqual(code, 1, said)
        self.assertIn("the window is one key too wide", said)

    def test_triton_as_it_is_compiled(self):
        self.skip_without("triton")
        for target in ("80", "90"):
            code, said = self.python(EXAMPLES / "triton_ptx.py", target)
            self.assertEqual(code, 0, said)
            self.assertIn("nothing failed", said)
        self.copy("triton_kernel.py", "row * max_blocks + index)", "row * max_blocks + index + 1)")
        self.copy("triton_ptx.py", "cases=12", "cases=4")
        code, said = self.python("triton_ptx.py")
        self.assertEqual(code, 1, said)
        self.assertIn("recto.ptx.KernelFault: out of bounds in kernel 'decode'", said)

    def expect_in_copy(self, name, old, new, found):
        """The example passes; a copy with another text in place of one fails, and says why."""
        self.assertIn("nothing failed", self.expect_passing(name))
        self.copy(name, old, new)
        code, said = self.python(name)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, found)

    def test_numba_as_it_is_compiled(self):
        self.skip_without("numba.cuda")
        self.expect_in_copy("numba_decode.py", "    cuda.syncthreads()\n", "", r"race in kernel")

    def test_the_cute_dsl_as_it_is_compiled(self):
        self.skip_without("cutlass.cute")
        self.assertIn("nothing failed", self.python(EXAMPLES / "cute_decode.py", "sm_80")[1])
        self.expect_in_copy("cute_decode.py", "table[row, key", "table[row, 1 + key",
                            r"out of bounds in kernel .* past the end of block_table")

    def test_nvrtc_without_a_toolkit(self):
        self.skip_without("cuda.bindings.nvrtc")
        self.expect_in_copy("nvrtc_decode.py", "lanes > 0; lanes /= 2", "lanes > 1; lanes /= 2",
                            r"\d+ of \d+ elements are wrong")

    def test_pallas(self):
        self.skip_without("jax")
        self.assertIn("nothing failed", self.expect_passing("pallas_decode.py"))

    def test_torch_sdpa(self):
        self.skip_without("torch")
        self.assertIn("nothing failed", self.expect_passing("torch_sdpa.py"))

    def test_the_action_runs_the_tests(self):
        self.skip_without("pytest", "xdist", "yaml")
        load = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
        code, said = self.python("-c", load, EXAMPLES / "ci" / "attention.yml")
        self.assertEqual(code, 0, said)
        [command] = re.findall(r'"run": "pytest (.*?)"[,}]', said.replace('\\"', ""))
        command = command.replace("$SEED", "3").replace("$CASES", "2").replace("-n auto", "-n 2")
        code, said = self.python("-m", "pytest", "-p", "recto.pytest_plugin", *command.split(),
                                 "-p", "no:cacheprovider", f"--recto-database={self.folder}",
                                 EXAMPLES / "test_first_steps.py")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"\d+ passed")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
