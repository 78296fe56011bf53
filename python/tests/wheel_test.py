#!/usr/bin/env python3
"""The wheel, installed into an empty folder: verifies, shrinks, replays, simulates, draws.

    wheel_test.py WHEEL_DIR MISSING_TXT LIBS_TXT

MISSING_TXT: why archives of libraries are missing, without which the wheel is for this machine.
LIBS_TXT: the list of external libraries.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

[WHEEL] = Path(sys.argv[1]).resolve().glob("*.whl")
MISSING, LIBRARIES = (Path(path).read_text() for path in sys.argv[2:4])
OF_TESTS = {"catch2", "rapidcheck", "benchmark"}
LARGEST_MB = 25
CHECKOUT = Path(__file__).absolute().parents[1]

EXAMPLE = """
import numpy as np
import recto

def too_wide(call):
    # A window one key too wide, in fp32 over the gathered context.
    out = np.zeros((call.num_query_rows, call.num_q_heads, call.head_dim_v))
    group = call.num_q_heads // call.num_kv_heads
    q = call.float32("q")
    for s, n in enumerate(call.context_length):
        k, v = (np.repeat(each, group, 1) for each in call.gather(s))
        begin = 0 if call.window is None else max(0, n - call.window - 1)
        scores = call.scale * np.einsum("hd,jhd->hj", q[s], k[begin:])
        if call.softcap:
            scores = call.softcap * np.tanh(scores / call.softcap)
        if n:
            p = np.exp(scores - scores.max(-1, keepdims=True))
            out[s] = np.einsum("hj,jhd->hd", p / p.sum(-1, keepdims=True), v[begin:])
    return out

report = recto.verify(decode=too_wide, types=["fp16"], without=["alibi", "sinks"], cases=60, seed=1,
                      context_max=200, sequences_max=8, q_heads_max=16)
assert not report.passed
failure = report.minimize()
assert failure.size <= 6, failure
assert "the window is one key too wide" in str(report), report
replayed = recto.replay(failure.file, decode=too_wide)
assert not replayed.passed
print(failure)
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="with spaces ")
        cls.addClassCleanup(folder.cleanup)
        cls.site, cls.empty = Path(folder.name) / "site", Path(folder.name) / "empty"
        cls.empty.mkdir()
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                        "--no-deps", "--no-compile", "--target", cls.site, WHEEL], check=True)

    def run_python(self, text):
        environment = {name: value for name, value in os.environ.items() if "RECTO" not in name}
        environment["PYTHONPATH"] = str(self.site)
        done = subprocess.run([sys.executable, "-c", text], cwd=self.empty, env=environment,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_wrong_kernel_is_found_shrunk_and_replayed(self):
        self.assertIn("window 1", self.run_python(EXAMPLE))

    def test_the_simulator_runs_and_draws(self):
        self.run_python("import recto\nstudy = recto.fragmentation(requests=20, block_sizes=16)\n"
                        "study.plot().savefig('states.png')\n"
                        "assert len(recto.sweep(block_size=[8, 16], requests=20).to_pandas()) == 2")
        self.assertEqual((self.empty / "states.png").read_bytes()[1:4], b"PNG")

    def test_it_has_the_command_and_one_version(self):
        done = subprocess.run([self.site / "bin" / "recto", "--version"], capture_output=True,
                              text=True, env={**os.environ, "PYTHONPATH": str(self.site)})
        version = self.run_python("import recto; print(recto.__version__)").strip()
        self.assertIn(version, done.stdout)
        self.assertIn(f"-{version}-", WHEEL.name)

    def test_the_plugin_is_found(self):
        if importlib.util.find_spec("pytest") is None:
            print("SKIPPED: pytest is not installed")
            self.skipTest("no pytest")
        said = self.run_python("import pytest; pytest.main(['--help'])")
        self.assertIn("--recto-seed", said)

    def test_it_is_small_and_has_no_extension_module(self):
        size = WHEEL.stat().st_size / 1e6
        print(f"{WHEEL.name}: {size:.1f} MB")
        self.assertLess(size, LARGEST_MB)
        names = zipfile.ZipFile(WHEEL).namelist()
        self.assertEqual([name for name in names if re.search(r"\.so\b", name)], [])
        self.assertIn("recto/py.typed", names)

    def test_it_has_the_licence_of_each_library_that_it_is_linked_with(self):
        [licences] = self.site.glob("*.dist-info/licenses/third_party.txt")
        [own] = self.site.glob("*.dist-info/licenses/LICENSE")
        self.assertIn("Apache License", own.read_text())
        lines = LIBRARIES.splitlines()
        linked = {line.split()[0] for line in lines if line and not line.startswith("#")} - OF_TESTS
        named = set(re.findall(r"(?m)^== (\w+)", licences.read_text()))
        self.assertGreater(len(linked), 5)
        self.assertEqual(linked - named, set())

    def test_its_tag_is_that_of_its_programs(self):
        if MISSING:
            print(f"SKIPPED: the tag: {MISSING.splitlines()[0]}")
            self.skipTest("an archive is missing")
        minor = int(re.search(r"-py3-none-manylinux_2_(\d+)_\w+\.whl", WHEEL.name).group(1))
        newest = 0
        for program in (self.site / "recto" / "_bin").iterdir():
            said = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
            foreign = [line for line in said.splitlines()
                       if not re.search(r"lib(c|m|dl|pthread|rt)\.so|ld-linux|vdso", line)]
            self.assertEqual(foreign, [])
            versions = re.findall(rb"\0GLIBC_2\.(\d+)", program.read_bytes())
            newest = max(newest, *map(int, versions))
        self.assertEqual(minor, newest)
        self.assertLessEqual(minor, 34)  # of RHEL 9 and Amazon Linux 2023

    def test_its_programs_catch_exceptions(self):
        done = subprocess.run([self.site / "recto" / "_bin" / "recto", "plan", "--nonsense"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--nonsense", done.stderr)

    def test_its_metadata_is_valid(self):
        try:
            from packaging.metadata import Metadata
        except ImportError as error:
            print(f"SKIPPED: {error}")
            self.skipTest("no packaging")
        [path] = self.site.glob("*.dist-info/METADATA")
        metadata = Metadata.from_email(path.read_bytes(), validate=True)
        self.assertEqual(metadata.license_files, ["LICENSE", "third_party.txt"])
        self.assertNotRegex(metadata.description, r"\]\((?!http)[^)\s]*\.(md|py|yml)")
        self.assertIn("```python", metadata.description)

    def test_pip_refuses_a_checkout(self):
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index",
                               CHECKOUT], cwd=self.empty, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("./bazelw build //python:wheel", done.stdout + done.stderr)

    def test_auditwheel_agrees(self):
        if MISSING or importlib.util.find_spec("auditwheel") is None:
            print("SKIPPED: auditwheel is not installed, or an archive is missing")
            self.skipTest("no auditwheel")
        said = subprocess.run([sys.executable, "-m", "auditwheel", "show", WHEEL],
                              capture_output=True, text=True).stdout
        tag = re.search(r"manylinux_\d+_\d+_\w+", WHEEL.name).group()
        self.assertIn(f'"{tag}"', said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
