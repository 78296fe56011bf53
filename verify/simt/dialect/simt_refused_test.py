#!/usr/bin/env python3
"""Language features that kernels may not use must fail to compile, with a message that says so.

Each snippet is a kernel; the same one with its allowed counterpart must compile.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REFUSED_HEADERS = Path("verify/simt/dialect/refused")
FOLDERS = ["-I.", "-Iverify/simt/dialect", f"-isystem{REFUSED_HEADERS}"]
COMMAND = ["-std=c++20", "-DRECTO_SIMT_KERNEL_FILE", *FOLDERS]
HEAD = """\
#include <kernel_dialect.h>
#include <kernel_ptx.h>
"""
LINES_OF_HEAD = HEAD.count("\n")

# {name in the message: (refused code, allowed code instead)}.
SNIPPETS = {
    "__nanosleep": ("__nanosleep(100);", "__syncwarp();"),
    "clock64": ("out[0] = clock64();", "out[0] = n;"),
    "tex2D": ("out[0] = tex2D<float>(n, 1.0f, 2.0f);", "out[0] = __ldg(out + 1);"),
    "tex1Dfetch": ("out[0] = tex1Dfetch<float>(n, 1);", "out[0] = __ldcg(out + 1);"),
    "this_thread_block": (
        "cooperative_groups::this_thread_block().sync();",
        "__syncthreads();",
    ),
    "this_grid": ("auto grid = cooperative_groups::this_grid();", "grid_barrier();"),
    "tiled_partition": (
        "auto tile = cooperative_groups::tiled_partition<32>(n);",
        "__syncwarp(0xffffffff);",
    ),
    "wmma": (
        "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half> a;",
        "unsigned a[4]; load_matrix_x4(a, out);",
    ),
    "malloc": ("out[0] = malloc(8) != nullptr;", 'printf("%d", n);'),
    "free": ("free(out);", "assert(out != nullptr);"),
    "__shfl_xor": ("out[0] = __shfl_xor(n, 1);", "out[0] = __shfl_xor_sync(~0u, n, 1);"),
    "__any": ("out[0] = __any(n);", "out[0] = __any_sync(~0u, n);"),
    "__match_all_sync": (
        "int all; out[0] = __match_all_sync(~0u, n, &all);",
        "out[0] = __match_any_sync(~0u, n) == ~0u;",
    ),
    "__barrier_sync": ("__barrier_sync(1);", "__syncthreads();"),
    "__cluster_barrier_arrive": ("__cluster_barrier_arrive();", "__syncthreads();"),
    "__cvta_generic_to_shared": (
        "out[0] = __cvta_generic_to_shared(out);",
        "copy_async_16(out, out + 4);",
    ),
    "__pipeline_memcpy_async": (
        "__pipeline_memcpy_async(out, out + 4, 16);",
        "commit_copies(); wait_for_copies<0>();",
    ),
    "cudaLaunchDevice": ("cudaLaunchDevice(out);", "__threadfence();"),
    "__fadd_rz": ("out[0] = __fadd_rz(out[1], 1.0f);", "out[0] = __fadd_rn(out[1], 1.0f);"),
    "hexp": ("out[0] = hexp(__float2half(1.0f));", "out[0] = __half(__expf(1.0f));"),
    "__nv_fp8x2_e4m3": ("__nv_fp8x2_e4m3* pair = nullptr;", "__nv_fp8_e4m3 one(1.0f);"),
    "atomicAdd_system": ("atomicAdd_system(out, 1.0f);", "atomicAdd(out, 1.0f);"),
    "atomicMax_block": ("atomicMax_block(&n, 1);", "atomicMax(&n, 1);"),
    "__nv_atomic_fetch_add": ("__nv_atomic_fetch_add(&n, 1, 5, 3);", "atomicAdd(&n, 1);"),
    "__dadd_ru": ("out[0] = __dadd_ru(1.0, n);", "out[0] = __dadd_rn(1.0, n);"),
    "cospif": ("out[0] = cospif(1.0f);", "out[0] = cosf(3.14159274f);"),
    "rcbrtf": ("out[0] = rcbrtf(1.0f);", "out[0] = 1 / cbrtf(1.0f);"),
    "norm3df": ("out[0] = norm3df(1.0f, 2.0f, 2.0f);", "out[0] = hypotf(3.0f, 4.0f);"),
    "__viaddmax_s32": ("out[0] = __viaddmax_s32(n, 1, 2);", "out[0] = max(n + 1, 2);"),
    "__vimax3_s16x2_relu": ("out[0] = __vimax3_s16x2_relu(1, 2, 3);", "out[0] = max(1, 2);"),
    "min": ("out[0] = cuda::std::min(n, 1);", "out[0] = std::min(n, 1);"),
    "cudaMemcpyToSymbol": ("cudaMemcpyToSymbol(out, &n, 4);", "out[0] = n;"),
    "throw": ("throw n;", "__trap();"),
    "try": ("try { out[0] = n; } catch (...) {}", "{ out[0] = n; }"),
    "new": ("out = new float[4];", "float four[4] = {1}; out[0] = four[n];"),
    "thread_local": ("thread_local int i = 0; out[0] = i;", "int i = 0; out[0] = i;"),
    "asm": ('asm volatile("bar.sync 0;");', "__syncthreads();"),
    "__asm__": ('__asm__ volatile("bar.sync 0;");', "__syncthreads();"),
    "__asm": ('__asm("bar.sync 0;");', "__syncthreads();"),
    "__managed__": (
        "} __device__ __managed__ int shared_with_host; __global__ void other_1() {",
        "} __constant__ int known_to_both = 1; __global__ void other_1() {",
    ),
    "__grid_constant__": (
        "} __global__ void other_2(const __grid_constant__ int n) {",
        "} __global__ void other_2(const int n) {",
    ),
    "tex1DLod": ("out[0] = tex1DLod<float>(n, 1.0f, 2.0f);", "out[0] = __ldg(out + 1);"),
    "texCubemapLayeredGrad": (
        "out[0] = texCubemapLayeredGrad<float>(n, 1.0f);",
        "out[0] = __ldg(out + 2);",
    ),
    "__vcmpeq4": ("out[0] = __vcmpeq4(n, 1);", "out[0] = n == 1;"),
    "__vmaxs2": ("out[0] = __vmaxs2(n, 1);", "out[0] = max(n, 1);"),
    "__vabsdiffu4": ("out[0] = __vabsdiffu4(n, 1);", "out[0] = __sad(n, 1, 0);"),
    "clock": ("out[0] = clock();", "out[0] = __uint_as_float(1u);"),
    "__shared__": ("__shared__ float tile[4];", "KERNEL_SHARED(float, tile, [4]);"),
    "a __device__ variable": (
        "} __device__ int counter; __global__ void other_0() {",
        "} __constant__ int counter = 1; __device__ int next() { return 2; } "
        "__global__ void other_0() {",
    ),
    "atomicMax of this type": (
        "atomicMax(out, 1.0f);",
        "atomicMax((int*)out, n); atomicMax((unsigned long long*)out, 1);",
    ),
    "atomicAdd of this type": (
        "short s = 0; atomicAdd(&s, n);",
        "__half h = 1; atomicAdd(&h, h); atomicAdd((unsigned*)out, 1);",
    ),
    "atomicSub of this type": ("atomicSub(out, 1.0f);", "atomicSub(&n, 1u);"),
    "atomicExch of this type": ("double d; atomicExch(&d, 1.0);", "atomicExch(out, 1);"),
    "atomicCAS of this type": (
        "atomicCAS(out, 0.0f, 1.0f);",
        "unsigned short s = 0; atomicCAS(&s, 0, 1);",
    ),
    "atomicXor of this type": ("long x = 0; atomicXor(&x, 1);", "atomicXor(&n, 1);"),
    "__cluster_dims__": (
        "} __global__ void __cluster_dims__(2, 1, 1) other() {",
        "} __global__ void __launch_bounds__(128) other() {",
    ),
}


# Code that CUDA accepts, in rare forms.
ACCEPTED = [
    "} __constant__ const float halves[] = {0.5f, 1.0f}; __global__ void reads(float* out) { "
    "out[0] = halves[1];",
    "} static __constant__ int2 pair = {1, 2}; __global__ void takes(int* out) { *out = pair.y;",
    "__stcs((int*)out, 1u);",
    "__stwt(out, 1);",
    "uint1 one = make_uint1(1); float1 other = {1.0f}; out[0] = one.x + other.x;",
    "static_assert(sizeof(long2) == 16 && alignof(ulong4) == 16 && alignof(short1) == 2);",
    "out[0] = __sad(n, -1, 2u) + __usad(1u, 2u, 3u) + __urhadd(1u, 2u);",
    "atomicDec((unsigned*)out, 3);",
]


def compilers():
    names = [os.environ.get("CXX"), "g++", "clang++"]
    return sorted({name for name in names if name and shutil.which(name)})


def compile_text(compiler, options, text):
    command = [compiler, *options, "-x", "c++", "-fsyntax-only", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def compile_kernels(compiler, bodies):
    """One kernel per line, after the head."""
    kernels = [
        f"__global__ void kernel_{number}(float* out, int n) {{ {body} }}"
        for number, body in enumerate(bodies)
    ]
    limit = "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0"
    return compile_text(compiler, [*COMMAND, limit], HEAD + "\n".join(kernels) + "\n")


def lines_with_errors(text):
    """The numbers of all source lines named by an error or its note."""
    return {int(line) for line in re.findall(r"<stdin>:(\d+):", text)}


# A write would affect all thread blocks, and later launches.
WRITTEN_CONSTANTS = [
    "} __constant__ int limit = 1; __global__ void writes() { limit = 2;",
    "} __constant__ float table[2] = {1, 2}; __global__ void adds() { atomicAdd(&table[1], 1.0f);",
]

# Headers that kernel files include for their host code.
HOST_HEADERS = """
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
"""


class RefusedNamesTest(unittest.TestCase):
    def test_each_refused_name_fails_with_a_message_about_it(self):
        for compiler in compilers():
            result = compile_kernels(compiler, [refused for refused, _ in SNIPPETS.values()])
            failed = lines_with_errors(result.stderr)
            for number, name in enumerate(SNIPPETS):
                with self.subTest(compiler=compiler, name=name):
                    self.assertIn(f"verify/simt: {name} is not supported", result.stderr)
                    self.assertIn(LINES_OF_HEAD + 1 + number, failed)

    def test_what_stands_in_for_it_compiles(self):
        for compiler in compilers():
            with self.subTest(compiler=compiler):
                result = compile_kernels(compiler, [allowed for _, allowed in SNIPPETS.values()])
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_what_cuda_accepts_compiles(self):
        for compiler in compilers():
            with self.subTest(compiler=compiler):
                result = compile_kernels(compiler, ACCEPTED)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_constants_are_not_written(self):
        for compiler in compilers():
            for body in WRITTEN_CONSTANTS:
                with self.subTest(compiler=compiler, body=body):
                    self.assertNotEqual(compile_kernels(compiler, [body]).returncode, 0)

    def test_headers_of_the_host_may_come_after_the_dialect(self):
        for compiler in compilers():
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, COMMAND, HEAD + HOST_HEADERS)
                self.assertEqual(result.returncode, 0, result.stderr)


class RefusedHeadersTest(unittest.TestCase):
    headers = sorted(
        str(path.relative_to(REFUSED_HEADERS))
        for path in REFUSED_HEADERS.rglob("*")
        if path.is_file()
    )

    def test_each_is_refused_by_name(self):
        known = {"cooperative_groups.h", "mma.h", "cuda/barrier", "cuda_pipeline.h"}
        self.assertLessEqual(known, set(self.headers))
        for compiler in compilers():
            for header in self.headers:
                with self.subTest(compiler=compiler, header=header):
                    result = compile_text(compiler, COMMAND, f"#include <{header}>\n")
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(f"verify/simt: <{header}> is not supported; ", result.stderr)

    def test_files_without_kernels_get_the_toolkits(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mma.h").write_text("int of_the_toolkit();\n", "utf-8")
            command = ["-std=c++20", *FOLDERS, f"-isystem{folder}"]
            for compiler in compilers():
                with self.subTest(compiler=compiler):
                    text = "#include <mma.h>\nint n = of_the_toolkit();\n"
                    result = compile_text(compiler, command, text)
                    self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    if not compilers():
        print("SKIPPED: simt_refused_test: no C++ compiler")
    else:
        unittest.main()
