#!/usr/bin/env python3
"""Prints the table of figures of FlashInfer's and Triton's kernels, made as those of our own.

    peers.py NVCC FOLDER FILE > TABLE

FOLDER is an installed or unpacked flashinfer-python, compiled by NVCC; FILE is
tools/bench_peers/gpu_peers/triton_decode.py, compiled by the triton of this interpreter.
"""

import importlib.util
import sys
import tempfile
import types
from pathlib import Path

sys.dont_write_bytecode = True

from cards import CARDS  # noqa: E402
from figures import Subject, measure  # noqa: E402
from machine_code import disassemble, find_nvdisasm, output_of  # noqa: E402
from speed_table import write_table  # noqa: E402

CARD = CARDS["H200"]
_CCCL = ("cub", "libcudacxx/include", "thrust")
# Kernels by parts of their mangled names. The shared memory that a launch requests is `sizeof`
# FlashInfer's SharedStoragePaged, and the sum in BatchDecodeWithPagedKVCacheDispatched. Prefill's
# work is given, because some of its products only sum the weights of 32 rows.
_FLASHINFER = {
    ("BatchPrefillWithPagedKVCacheKernel", "j16E"):
        Subject("FlashInfer decode on tensor cores, bf16/bf16, 128", True, 2, 68 << 10,
                is_own=False),
    ("BatchPrefillWithPagedKVCacheKernel", "j128E"):
        Subject("FlashInfer prefill (FA2), bf16/bf16, 128", False, 2, 64 << 10,
                work=4 * 32 * 64 * 128, is_own=False),
    ("BatchDecodeWithPagedKVCacheKernel", ""):
        Subject("FlashInfer decode on CUDA cores, bf16/bf16, 128, group 4", True, 2, 9 << 10,
                threads=128, is_own=False),
}


def flashinfer_figures(nvcc, folder):
    """{label: figures}, and the version."""
    headers = next(Path(folder).rglob("include/flashinfer/attention"), None)
    if headers is None:
        raise SystemExit(f"{folder}: expected flashinfer-python, with include/flashinfer/attention")
    data = headers.parents[2]
    includes = [data / "include", *(data / "cccl" / part for part in _CCCL)]
    source = Path(__file__).with_name("flashinfer_attention.cu")
    with tempfile.TemporaryDirectory() as work:
        cubin = Path(work) / "flashinfer.cubin"
        options = ["-std=c++20", "-O3", "-arch=sm_90", "-cubin", "-w", "--expt-relaxed-constexpr"]
        output_of(nvcc, *options, *(f"-I{each}" for each in includes), source, "-o", cubin)
        kernels = disassemble(cubin, find_nvdisasm(), lambda name: "PagedKVCacheKernel" in name)
    rows = {}
    for kernel in kernels:
        for parts, subject in _FLASHINFER.items():
            if all(part in kernel.code.name for part in parts):
                rows[subject.label] = measure(kernel, subject, CARD)
    info = next((path.stem for path in Path(folder).glob("*.dist-info")), "flashinfer_python-?")
    return rows, info.replace("-", " ").replace("_", "-")


def triton_figures(path):
    """{label: figures} of the decode in tools/bench_peers, with tiles of 64 keys, four warps and
    three stages, and the version. Work is given, because one copy is of the block table. The file
    imports PyTorch for types alone."""
    try:
        import triton
    except ImportError as error:
        raise SystemExit(f"{sys.executable}: expected the package triton: {error}") from error
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile as compile_kernel

    stand_in = types.ModuleType("torch")
    stand_in.Tensor = object
    sys.modules.setdefault("torch", stand_in)
    spec = importlib.util.spec_from_file_location("triton_decode", path)
    decode = importlib.util.module_from_spec(spec)
    sys.modules["triton_decode"] = decode
    spec.loader.exec_module(decode)

    sizes = decode.Sizes(4, 16, 128, 128, 16, 64, 32, 32, False)
    signature = {
        "inputs": decode.Inputs(*["*bf16"] * 3, "*i32", "*i32"),
        "strides": decode.Strides(*["i64"] * 4),
        "parts": decode.Parts("*fp32", "*fp32"),
        "scale_log2": "fp32",
        "sizes": decode.Sizes(*["constexpr"] * len(sizes)),
    }
    constants = {(4, index): value for index, value in enumerate(sizes)}
    aligned = [["tt.divisibility", 16]]
    attributes = {(0, index): aligned for index in range(5)}
    attributes |= {(1, index): aligned for index in range(4)} | {(2, 0): aligned, (2, 1): aligned}
    source = ASTSource(decode.attend_split, signature, constants, attributes)
    made = compile_kernel(source, target=GPUTarget("cuda", 90, 32),
                          options={"num_warps": 4, "num_stages": 3})
    with tempfile.TemporaryDirectory() as work:
        cubin = Path(work) / "triton.cubin"
        cubin.write_bytes(made.asm["cubin"])
        [kernel] = disassemble(cubin, find_nvdisasm())
    subject = Subject("Triton decode, bf16/bf16, 128", True, 2, made.metadata.shared, threads=128,
                      work=512 * 16, is_own=False)
    return {subject.label: measure(kernel, subject, CARD)}, f"triton {triton.__version__}"


def main(nvcc, folder, triton_decode):
    rows, flashinfer = flashinfer_figures(nvcc, folder)
    triton_rows, triton = triton_figures(triton_decode)
    title = f"# speed of peers, sm_90, {flashinfer}, {triton}"
    sys.stdout.write(write_table(title, rows | triton_rows))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
