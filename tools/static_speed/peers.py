#!/usr/bin/env python3
"""The figures of peers' kernels, from the same walk and replay as our own, as a table.

    peers.py [--nvcc NVCC] [--flashinfer FOLDER] [--triton-decode FILE] > TABLE

FOLDER is an installed or unpacked flashinfer-python, compiled by nvcc; FILE is
tools/bench_peers/gpu_peers/triton_decode.py, compiled by the triton of this interpreter. A peer
that is not there is named on stderr.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import types
from pathlib import Path

sys.dont_write_bytecode = True

from cards import CARDS  # noqa: E402
from figures import Subject, measure  # noqa: E402
from machine_code import disassemble, find_nvdisasm  # noqa: E402
from speed_table import write_table  # noqa: E402

CARD = CARDS["H200"]
# Parts of mangled names, with what a launch asks for: `sizeof` FlashInfer's SharedStoragePaged, and
# the sum in BatchDecodeWithPagedKVCacheDispatched. Some products of prefill sum the weights of 32
# rows.
_CCCL = ("cub", "libcudacxx/include", "thrust")
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
    [headers] = list(Path(folder).rglob("include/flashinfer/attention"))[:1]
    data = headers.parents[2]
    includes = [data / "include", *(data / "cccl" / part for part in _CCCL)]
    source = Path(__file__).with_name("flashinfer_attention.cu")
    with tempfile.TemporaryDirectory() as work:
        cubin = Path(work) / "flashinfer.cubin"
        options = ["-std=c++20", "-O3", "-arch=sm_90", "-cubin", "-w", "--expt-relaxed-constexpr"]
        subprocess.run([nvcc, *options, *(f"-I{each}" for each in includes), source, "-o", cubin],
                       check=True)
        kernels = disassemble(cubin, find_nvdisasm(), lambda name: "PagedKVCacheKernel" in name)
    rows = {}
    for kernel in kernels:
        for parts, subject in _FLASHINFER.items():
            if all(part in kernel.code.name for part in parts):
                rows[subject.label] = measure(kernel, subject, CARD)
    info = next((path.stem for path in Path(folder).glob("*.dist-info")), "flashinfer_python-?")
    return rows, info.replace("-", " ").replace("_", "-")


def triton_figures(path):
    """The decode of tools/bench_peers with tiles of 64 keys, four warps, three stages; one of its
    copies is of the block table. Its file imports PyTorch for types alone."""
    import triton
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--flashinfer")
    parser.add_argument("--triton-decode")
    arguments = parser.parse_args()
    rows, versions = {}, []
    for name, path, find in (
        ("FlashInfer", arguments.flashinfer, lambda at: flashinfer_figures(arguments.nvcc, at)),
        ("Triton", arguments.triton_decode, triton_figures),
    ):
        if not path:
            print(f"SKIPPED: {name}: no path to it is given", file=sys.stderr)
            continue
        found, version = find(path)
        rows |= found
        versions.append(version)
    sys.stdout.write(write_table(f"# speed of peers, sm_90, {', '.join(versions)}", rows))


if __name__ == "__main__":
    main()
