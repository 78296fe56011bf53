#!/usr/bin/env python3
"""Tests build_cuda_library.py on valid and invalid sources: the library built, and the messages.

    build_cuda_library_test.py [KIT]

Without a kit or without nvcc, there is nothing to test.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

KIT = None

KERNEL = """\
__global__ void fill(float* out) {
  __shared__ float value;
  if (threadIdx.x == 0) value = VALUE;
  __syncthreads();
  out[threadIdx.x] = value;
}
"""

LAUNCH = "void launch_fill(float* out) { fill<<<1, 32>>>(out); }\n"

ADAPTER = """\
#include <recto_cuda_adapter.h>
void launch_fill(float* out);
static int32_t decode(const RectoAttentionCall* call) {
  recto::CheckedCall checked(*call);
  return checked.run([&] { launch_fill(static_cast<float*>(call->out.data)); });
}
const RectoKernelTable* recto_kernel_table() {
  static const RectoKernelTable table = {sizeof(table), RECTO_KERNEL_ABI_MAJOR,
      RECTO_KERNEL_ABI_MINOR, "fill", kRectoHostMemory, 0, decode, nullptr, nullptr};
  return &table;
}
"""


def find_nvcc(**environment):
    """What the script finds with these variables, or None."""
    code = "import build_cuda_library as script\ntry: print(script.find_nvcc())\n"
    code += "except script.Refusal: pass"
    return subprocess.run([sys.executable, "-c", code], cwd=KIT, capture_output=True, check=True,
                          env=environment or None, text=True).stdout.strip()


class BuildCudaLibraryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")

    def build(self, *arguments, env=None):
        return subprocess.run(
            [sys.executable, f"{KIT}/build_cuda_library.py", *arguments, "-o", "library.so"],
            capture_output=True,
            check=False,
            cwd=self.folder,
            env=env,
            text=True,
        )

    def check_refused(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        self.assertFalse((self.folder / "library.so").exists())

    def test_a_source_and_an_adapter_become_a_library_with_a_table(self):
        self.write("fill.cu", '#include "kernels/fill.cuh"\n' + LAUNCH)
        self.write("include/kernels/fill.cuh", "#pragma once\n" + KERNEL)
        self.write("adapter.cc", ADAPTER)
        built = self.build("fill.cu", "--adapter", "adapter.cc", "-I", "include", "-DVALUE=2.0f")
        self.assertEqual(built.returncode, 0, built.stderr)
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", self.folder / "library.so"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        names = [line.split()[-1] for line in symbols.splitlines()]
        self.assertEqual(names, ["recto_kernel_table"], "nothing else is exported")

    def test_a_source_that_the_adapter_includes_is_compiled_once(self):
        self.write("fill.cu", "#define VALUE 1.0f\n" + KERNEL + LAUNCH)
        self.write("adapter.cc", '#include "fill.cu"\n' + ADAPTER)
        built = self.build("fill.cu", "--adapter", "adapter.cc")
        self.assertEqual(built.returncode, 0, built.stderr)

    def test_files_that_are_not_there_are_named(self):
        self.write("adapter.cc", ADAPTER)
        result = self.build("fill.cu", "--adapter", "adapter.cc")
        self.check_refused(result, "fill.cu: No such file")
        self.write("fill.cu", KERNEL)
        result = self.build("fill.cu", "--adapter", "other.cc")
        self.check_refused(result, "other.cc: No such file")

    def test_pipes_and_devices_are_refused_and_not_waited_for(self):
        os.mkfifo(self.folder / "pipe.cc")
        self.check_refused(self.build("--adapter", "pipe.cc"),
                           "pipe.cc: expected a file, found a pipe or a device")
        self.check_refused(self.build("--adapter", "/dev/zero"),
                           "/dev/zero: expected a file, found a pipe or a device")

    def test_without_nvcc_it_says_what_to_install(self):
        self.write("adapter.cc", ADAPTER)
        environment = {"PATH": "/usr/bin:/bin", "CUDA_HOME": "", "HOME": str(self.folder)}
        if find_nvcc(**environment):
            print("SKIPPED: without nvcc: there is one that is found without PATH")
            self.skipTest("there is one")
        result = self.build("--adapter", "adapter.cc", env=environment)
        self.check_refused(result, "no nvcc", "pip install nvidia-cuda-nvcc", "--ptx")

    def test_an_adapter_of_ptx_needs_no_nvcc(self):
        self.write("fill.ptx", ".version 8.0\n.target sm_80\n")
        self.write("adapter.cc", ADAPTER.replace("void launch_fill(float* out);\n", "").replace(
            "launch_fill(", 'recto::launch("fill", {1}, {32}, 0, '))
        built = self.build("--ptx", "fill.ptx", "--adapter", "adapter.cc",
                           env={**os.environ, "RECTO_NVCC": "/nowhere"})
        self.assertEqual(built.returncode, 0, built.stderr)

    def test_options_of_nvcc_reach_it(self):
        self.write("fill.cu", "#if defined(__CUDA_ARCH__) && !defined(GIVEN)\n#error not given\n"
                   "#endif\n#define VALUE 1.0f\n" + KERNEL + LAUNCH)
        self.write("adapter.cc", ADAPTER)
        arguments = ["fill.cu", "--adapter", "adapter.cc"]
        self.check_refused(self.build(*arguments), "fill.cu", "not given")
        self.check_refused(self.build(*arguments, "--nvcc-option=--no-such"), "--no-such")
        built = self.build(*arguments, "--nvcc-option=--use_fast_math", "--nvcc-option=-DGIVEN")
        self.assertEqual(built.returncode, 0, built.stderr)

    def test_options_of_nvcc_are_refused_where_it_compiles_nothing(self):
        self.write("fill.ptx", ".version 8.0\n.target sm_80\n")
        self.write("adapter.cc", ADAPTER)
        for flag in ("--arch=90", "--nvcc-option=--use_fast_math"):
            self.check_refused(self.build("--ptx", "fill.ptx", "--adapter", "adapter.cc", flag),
                               f"{flag.partition('=')[0]}: expected a CUDA source, too", "fill.ptx")

    def test_what_does_not_compile_is_told_with_its_line(self):
        self.write("fill.cu", "#define VALUE 1.0f\n" + KERNEL.replace("value;", "valve;", 1))
        self.write("adapter.cc", ADAPTER)
        result = self.build("fill.cu", "--adapter", "adapter.cc")
        self.check_refused(result, "fill.cu does not compile", "fill.cu(4)", "value")

    def test_an_adapter_without_a_table_is_refused(self):
        self.write("fill.cu", "#define VALUE 1.0f\n" + KERNEL + LAUNCH)
        self.write("adapter.cc", "void launch_fill(float* out);\n")
        result = self.build("fill.cu", "--adapter", "adapter.cc")
        self.check_refused(result, "adapter.cc: expected a definition of recto_kernel_table()")

    def test_functions_that_nobody_defines_are_named(self):
        self.write("fill.cu", "#define VALUE 1.0f\n" + KERNEL)
        self.write("adapter.cc", ADAPTER)
        result = self.build("fill.cu", "--adapter", "adapter.cc")
        self.check_refused(result, "cannot be linked", "launch_fill(float*)")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("SKIPPED: build_cuda_library_test: no g++, so there is no kit")
        sys.exit(0)
    KIT = Path(sys.argv.pop(1)).resolve()
    if not find_nvcc():
        print("SKIPPED: build_cuda_library_test: no nvcc")
        sys.exit(0)
    unittest.main()
