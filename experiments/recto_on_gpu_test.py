#!/usr/bin/env python3
"""Tests of the program with GPU kernels: its message without a GPU; with a GPU, all laws.

    recto_on_gpu_test.py PROGRAM RECTO LIBRARY GPU_BUNDLE_SH

LIBRARY takes device memory alone.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

PROGRAM, RECTO, LIBRARY, BUNDLE_SH = (os.path.abspath(path) for path in sys.argv[1:])
NO_GPU = 3
NOT_THIS_BUILD = "not here: this program has the GPU build of the kernels"


def run(*arguments, folder):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                          cwd=folder)
    return done.returncode, done.stdout, done.stderr


class RectoOnGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_here(self, *arguments):
        return run(*arguments, folder=self.folder)

    def why_no_gpu(self):
        """What a run says, or nothing where there is a GPU."""
        code, printed, _ = self.run_here("generate", "--brief")
        found = re.fullmatch(r"no GPU: (.+)\n", printed)
        self.assertEqual(code == NO_GPU, found is not None)
        return found and found[1]

    def test_it_explains_itself_with_or_without_a_gpu(self):
        code, printed, complaint = self.run_here("--help")
        self.assertEqual((code, complaint), (0, ""))
        for part in ("verify", "replay", "generate", "3 no GPU"):
            self.assertIn(part, printed)
        self.assertEqual(self.run_here("generate", "--print-config")[0], 0)

    def test_each_kernel_is_listed_for_the_executor_and_for_the_gpu(self):
        code, printed, complaint = self.run_here("verify", "--list")
        self.assertEqual((code, complaint), (0, ""))
        rows = re.findall(r"^(\S+) +(executor|host-api|gpu) +(.+)$", printed, re.M)
        here = {name: what for name, kind, what in rows if kind == "gpu"}
        elsewhere = {name: what for name, kind, what in rows if kind != "gpu"}
        self.assertEqual({name + "@gpu" for name in elsewhere}, set(here))
        self.assertEqual(set(elsewhere.values()), {NOT_THIS_BUILD})
        why = self.why_no_gpu()
        for what in here.values():
            self.assertEqual(what.startswith("not here: "), why is not None)
            self.assertEqual(what == f"not here: {why}", why is not None)

    def test_without_a_gpu_nothing_runs(self):
        if self.why_no_gpu() is None:
            self.skip("there is a GPU; what is said without one is not seen")
        for arguments in (["verify"], ["verify", "--backend", "gpu", "--json"], ["generate"],
                          ["replay", "nowhere.json"]):
            code, printed, complaint = self.run_here(*arguments)
            self.assertEqual((code, complaint), (NO_GPU, ""))
            self.assertRegex(printed, r"\Ano GPU: .+\n\Z")
        self.assertEqual(os.listdir(self.folder), [])

    def test_bad_usage_is_that_without_a_gpu_too(self):
        code, printed, complaint = self.run_here("simulate")
        self.assertEqual((code, printed), (2, ""))
        self.assertEqual(complaint, "recto_on_gpu: found 'simulate'; expected one of verify, "
                         "replay, generate; recto_on_gpu --help explains them\n")
        self.assertEqual(self.run_here("verify", "--cases", "0")[0], 2)

    def test_a_library_for_device_memory_is_served_here_and_refused_by_recto(self):
        done = subprocess.run([RECTO, "verify", "--kernel", LIBRARY], capture_output=True,
                              text=True, check=False, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Arecto: --kernel: .+: memories: expected .+, got "
                         r"kRectoDeviceMemory \(2\) alone: .+ recto_on_gpu .+ has it\n\Z")
        why = self.why_no_gpu()
        if why is not None:
            self.skip(f"a library for device memory: no GPU: {why}")
        code, printed, complaint = self.run_here("verify", "--kernel", LIBRARY)
        self.assertEqual(code, 0, complaint + printed)

    def test_it_runs_from_a_bundle(self):
        bundle = os.path.join(self.folder, "bundle")
        subprocess.run([BUNDLE_SH, "--out", bundle, "--programs", PROGRAM], check=True,
                       capture_output=True)
        done = subprocess.run([os.path.join(bundle, "bin", "recto_on_gpu"), "verify", "--list"],
                              env={"LD_LIBRARY_PATH": os.path.join(bundle, "lib")},
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # A bundle lacks what --config=full builds: the list says so, in a wider column.
        names = [[re.split("  +", line)[0].rstrip("-") for line in listed.splitlines()]
                 for listed in (done.stdout, self.run_here("verify", "--list")[1])]
        self.assertGreater(len(names[0]), 50)
        self.assertEqual(names[0], names[1])
        if self.why_no_gpu() is not None:
            case = os.path.join(bundle, "cases", "gather_bf16_e5m2_packed.json")
            self.assertEqual(self.run_here("replay", case, "--backend", "gpu")[0], NO_GPU)

    def test_each_case_of_a_bundle_is_right_and_what_its_law_is_about(self):
        program, kinds = PROGRAM, "gpu"
        if self.why_no_gpu() is not None:
            program, kinds = RECTO, "executor,host-api"
        cases = sorted(pathlib.Path(BUNDLE_SH).parent.glob("gpu_bundle/cases/*.json"))
        self.assertGreater(len(cases), 10)
        for case in cases:
            law = json.loads(case.read_text())["law"]
            done = subprocess.run([program, "replay", case, "--backend", kinds],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), case.name + done.stdout)
            self.assertRegex(done.stdout, rf"(?m)^({law} +ok: |law +{law} holds, )")

    def test_all_laws_hold_on_the_gpu(self):
        why = self.why_no_gpu()
        if why is not None:
            self.skip(f"laws on a GPU: no GPU: {why}")
        code, printed, complaint = self.run_here("verify", "--backend", "gpu", "--json")
        self.assertEqual(code, 0, complaint + printed)
        found = json.loads(printed)
        self.assertEqual((found["failed"], found["untried"], found["failures"]), (0, [], []))
        self.assertTrue(all(backend["kind"] == "gpu" for backend in found["backends"]))
        code, printed, complaint = self.run_here("generate", "--brief")
        self.assertEqual((code, complaint), (0, ""))

    def skip(self, why):
        print(f"SKIPPED: recto_on_gpu_test: {why}", flush=True)
        self.skipTest(why)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
