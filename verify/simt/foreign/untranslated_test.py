#!/usr/bin/env python3
"""Shared memory in a file that translate.py has not seen must not compile."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

CANDIDATES = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/usr/lib/cuda"]
COMMAND = ["-std=c++20", "-w", "-I.", "-Iverify/simt/foreign", "-Iverify/simt/dialect"]


def cuda_folder():
    folders = [Path(folder) / "include" for folder in CANDIDATES if folder]
    for folder in folders + [Path("/usr/include")]:
        if (folder / "cuda_fp8.h").exists() and (folder / "cuda_runtime.h").exists():
            return str(folder)
    return None


def compilers():
    return [name for name in ("g++", "clang++") if shutil.which(name)]


def errors_of(compiler, body):
    command = [compiler, *COMMAND, "-isystem", cuda_folder(), "-x", "c++", "-fsyntax-only", "-"]
    source = "#include <simt_foreign.h>\n__device__ int next(int value) {\n" + body + "\n}\n"
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return result.stderr


class UntranslatedTest(unittest.TestCase):
    def test_shared_memory_does_not_compile(self):
        for compiler in compilers():
            errors = errors_of(compiler, "__shared__ int parts[32]; return parts[value];")
            with self.subTest(compiler=compiler):
                self.assertIn("__shared__ in a file that was not translated", errors)
                self.assertIn("<stdin>:3", errors)
                self.assertIn("hdrs of foreign_kernels", errors)
                # Everything else compiles.
                self.assertEqual(errors.count("error:"), 1, errors)


if __name__ == "__main__":
    if cuda_folder() is None or not compilers():
        print("SKIPPED: untranslated_test: no CUDA headers or no C++ compiler")
        sys.exit()
    unittest.main()
