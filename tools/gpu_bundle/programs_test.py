#!/usr/bin/env python3
"""Makes and runs a bundle of real programs, as far as possible without a GPU.

    programs_test.py GPU_BUNDLE_SH MISSING PROGRAM...

MISSING has a line, "NAME: WHY", for each library without a static archive.
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from bundle_testing import BundleCase

NO_GPU = 3


class Programs(BundleCase):
    missing = programs = None

    def test_without_a_gpu_it_says_so_and_writes_nothing(self):
        bundle = self.make(self.programs)
        status, printed, complaint = self.run_bundle(bundle)
        if status != NO_GPU and list(self.work.iterdir()):
            print("SKIPPED: bundled_programs_test: there is a GPU; what is said without one is "
                  "not seen")
            return
        self.assertEqual((status, complaint), (NO_GPU, ""))
        self.assertRegex(printed, r"\Ano GPU: .+\nnothing is verified or measured, no results are "
                         r"written\n\Z")
        self.assertEqual(list(self.work.iterdir()), [])

    def test_each_program_runs_from_the_bundle_and_says_that_there_is_no_gpu(self):
        bundle = self.make(self.programs)
        for program in [*bundle.glob("tests/*"), *bundle.glob("bench/*")]:
            done = subprocess.run([program], capture_output=True, text=True, check=False,
                                  env={"LD_LIBRARY_PATH": str(bundle / "lib")},
                                  cwd=bundle)
            if "no GPU" not in done.stdout:
                print(f"SKIPPED: bundled_programs_test: {program.name}: there is a GPU")
                continue
            self.assertEqual(done.returncode, NO_GPU if program.parent.name == "bench" else 0)

    def test_programs_need_the_c_library_and_nothing_else(self):
        system = r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux-.+"
        shared = {line.partition(":")[0] for line in self.missing}
        for line in self.missing:
            print(f"SKIPPED: bundled_programs_test: linked as a shared library: {line} (to look "
                  "for it again: ./bazelw sync --only=archives)")
        for program in self.programs:
            listed = subprocess.run(["readelf", "--dynamic", program], capture_output=True,
                                    text=True, check=True).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.+)\]", listed)
            self.assertIn("libc.so.6", needed)
            if any(re.match(r"lib(a|t|ub)san\.", name) for name in needed):
                print("SKIPPED: bundled_programs_test: these programs have sanitizers")
                return
            others = {name for name in needed if not re.fullmatch(system, name)}
            self.assertLessEqual({re.match(r"lib(.+?)\.so", name)[1] for name in others}, shared,
                                 program)
        if not self.missing:
            self.assertEqual(list((self.make(self.programs) / "lib").glob("*.so*")), [])

    def test_it_has_all_libraries_the_system_s_apart(self):
        bundle = self.make(self.programs)
        for program in [*bundle.glob("tests/*"), *bundle.glob("bench/*")]:
            listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True,
                                    env={"LD_LIBRARY_PATH": str(bundle / "lib")}).stdout
            for name, path in re.findall(r"(\S+) => (\S+)", listed):
                if re.match(r"lib(c|m|dl|pthread|rt)\.so", name):
                    self.assertTrue((bundle / "lib" / "system" / name).is_file())
                else:
                    self.assertEqual(Path(path), bundle / "lib" / name)

    def test_programs_run_with_the_c_library_of_the_bundle(self):
        bundle = self.make(self.programs)
        for program in bundle.glob("bench/*"):
            done = subprocess.run([bundle / "lib/system/linker", program, "--card"],
                                  env={"LD_LIBRARY_PATH": f"{bundle}/lib:{bundle}/lib/system"},
                                  capture_output=True, text=True, check=False)
            self.assertIn((done.returncode, done.stderr), ((0, ""), (NO_GPU, "")))


if __name__ == "__main__":
    Programs.script = Path(sys.argv[1]).absolute()
    Programs.missing = Path(sys.argv[2]).read_text("utf-8").splitlines()
    Programs.programs = [os.path.abspath(path) for path in sys.argv[3:]]
    unittest.main(argv=sys.argv[:1])
