#!/usr/bin/env python3
"""Builds a kernel library from unchanged CUDA sources, or from PTX, for the executor of verify/ptx.

    build_cuda_library.py [SOURCE.cu ...] [--ptx FILE.ptx] --adapter ADAPTER.cc -o LIBRARY.so
        [-I FOLDER] [-D MACRO] [--arch 80] [--nvcc-option=OPTION]

The adapter is C++ (recto_cuda_adapter.h) and defines recto_kernel_table() of recto_kernel.h; it may
launch kernels itself. Sources and adapter are compiled by nvcc, device code to PTX; with PTX alone,
the adapter is compiled by the host compiler, and launches kernels by name. Headers are searched in
the including file's folder, in the folders of -I, then among the kit's. A source that the adapter
includes is not compiled a second time.

This script is part of the kit, a folder with everything else that it needs.
"""

import argparse
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NVCC_OPTIONS = ["-x", "cu", "-std=c++20", "-lineinfo", "--expt-relaxed-constexpr",
                "--expt-extended-lambda", "-w", "--no-compress",
                "-Xcompiler=-fPIC,-fvisibility=hidden,-ffp-contract=off"]

DEFAULT_ARCH = "80"

PTX_UNIT = """\
asm(".section .rodata\\n"
    "recto_ptx: .incbin \\"{file}\\"\\n"
    ".byte 0\\n"
    ".text\\n");
extern "C" const char recto_ptx[] asm("recto_ptx");
namespace recto {{ void add_ptx(const char* text); }}
__attribute__((constructor)) static void add() {{ recto::add_ptx(recto_ptx); }}
"""


class Refusal(Exception):
    """An error message for the user."""


class Kit:
    """The files beside this script."""

    def __init__(self, folder):
        self.folder = folder
        try:
            flags = json.loads((folder / "flags.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise Refusal(f"{folder}: not a kit: {error.strerror}: flags.json") from error
        self.compiler = flags["compiler"]
        self.copts = flags["copts"]
        self.linkopts = flags["linkopts"]
        include = folder / "include"
        self.include_folders = [
            include,
            include / "verify/library/cuda_source",
            include / "verify/library",
            *(include / name for name in flags["include_folders"]),
        ]


def find_nvcc():
    """nvcc: of RECTO_NVCC, a toolkit, the PATH, or NVIDIA's package for Python."""
    asked = os.environ.get("RECTO_NVCC")
    if asked:
        return asked
    places = [Path(os.environ["CUDA_HOME"]) / "bin"] if os.environ.get("CUDA_HOME") else []
    places.append(Path("/usr/local/cuda/bin"))
    packages = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for folder in packages:
        places += sorted(Path(folder).glob("nvidia/cu*/bin"))
    for place in places:
        if (place / "nvcc").is_file():
            return str(place / "nvcc")
    found = shutil.which("nvcc")
    if found:
        return found
    raise Refusal(
        "no nvcc: CUDA sources need NVIDIA's compiler, which needs no GPU: that of the CUDA "
        "Toolkit, or `pip install nvidia-cuda-nvcc nvidia-cuda-cccl`. recto "
        "looked in RECTO_NVCC, CUDA_HOME, /usr/local/cuda, Python's packages and PATH. PTX needs "
        "none: --ptx"
    )


def check_file(shown):
    path = Path(shown)
    try:
        path.stat()
    except OSError as error:
        raise Refusal(f"{shown}: {error.strerror}") from error
    if path.is_dir():
        raise Refusal(f"{shown}: expected a file, found a folder")
    if not path.is_file():
        raise Refusal(f"{shown}: expected a file, found a pipe or a device")


def run(command, what):
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                check=False)
    except OSError as error:
        raise Refusal(f"{command[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise Refusal(f"{what}:\n{result.stdout}{result.stderr}".rstrip())
    return result.stdout


def uses_nvcc(arguments):
    return bool(arguments.sources) or not arguments.ptx


def check_options(arguments):
    """Refuses what would have no effect."""
    if uses_nvcc(arguments):
        return
    for flag, value in (("--arch", arguments.arch), ("--nvcc-option", arguments.nvcc_options)):
        if value:
            raise Refusal(f"{flag}: expected a CUDA source, too: nvcc compiles nothing of "
                          f"{arguments.ptx} and its adapter")


class Compiler:
    """Compiles files into a folder: by nvcc or, for adapters of PTX, by the host compiler."""

    def __init__(self, kit, arguments, work):
        self.work = work
        folders = [*arguments.include_folders, *kit.include_folders]
        options = [f"-I{folder}" for folder in folders]
        options += [f"-D{macro}" for macro in arguments.macros]
        if uses_nvcc(arguments):
            target = f"compute_{arguments.arch or DEFAULT_ARCH}"
            self.command = [find_nvcc(), *NVCC_OPTIONS, "-gencode", f"arch={target},code={target}",
                            *arguments.nvcc_options]
        else:
            self.command = [kit.compiler, *kit.copts]
        self.command += options

    def compile(self, shown, number):
        """The object file, and the files that the source includes."""
        object_file = self.work / f"{number}.o"
        dependencies = self.work / f"{number}.d"
        run([*self.command, "-MD", "-MF", str(dependencies), "-c", shown, "-o", str(object_file)],
            f"{shown} does not compile")
        names = dependencies.read_text(encoding="utf-8", errors="replace").partition(":")[2]
        included = {Path(name.replace("\\ ", " ")).resolve()
                    for name in re.findall(r"(?:\\ |[^\s\\])+", names)}
        return object_file, included


def ptx_object(kit, shown, work):
    """The text in an object file that registers it."""
    (work / "kernels.ptx").write_bytes(Path(shown).read_bytes())
    unit = work / "ptx.cc"
    unit.write_text(PTX_UNIT.format(file=work / "kernels.ptx"), encoding="utf-8")
    object_file = work / "ptx.o"
    run([kit.compiler, *kit.copts, "-c", str(unit), "-o", str(object_file)], f"{shown}: as data")
    return object_file


def build(arguments, work):
    kit = Kit(arguments.kit)
    check_options(arguments)
    for file in filter(None, [*arguments.sources, arguments.adapter, arguments.ptx]):
        check_file(file)
    compiler = Compiler(kit, arguments, work)
    adapter, included = compiler.compile(arguments.adapter, 0)
    symbols = run(["nm", "--defined-only", str(adapter)], "nm")
    if not re.search(r" T recto_kernel_table$", symbols, re.M):
        raise Refusal(
            f"{arguments.adapter}: expected a definition of recto_kernel_table(), as "
            "recto_kernel.h declares it"
        )
    left = [source for source in arguments.sources if Path(source).resolve() not in included]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(compiler.compile, left, range(1, len(left) + 1)))
    objects = [adapter] + [object_file for object_file, _ in compiled]
    if arguments.ptx:
        objects.append(ptx_object(kit, arguments.ptx, work))
    exported = work / "exported.map"
    exported.write_text("{ global: recto_kernel_table; local: *; };\n", encoding="utf-8")
    command = [kit.compiler, "-shared", "-Wl,--no-undefined", f"-Wl,--version-script={exported}"]
    command += [str(file) for file in objects] + [str(kit.folder / "libexecutor.a")]
    command += [*kit.linkopts, "-lpthread", "-ldl", "-o", arguments.output]
    run(command, "the library cannot be linked")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE.cu")
    parser.add_argument("--ptx", metavar="FILE.ptx")
    parser.add_argument("--adapter", required=True, metavar="ADAPTER.cc")
    parser.add_argument("-o", "--output", required=True, metavar="LIBRARY.so")
    parser.add_argument(
        "-I", dest="include_folders", action="append", default=[], metavar="FOLDER"
    )
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="MACRO[=VALUE]")
    parser.add_argument("--arch", metavar="NUMBER", help="compute capability for which nvcc "
                        f"compiles: 80, 90, 90a [{DEFAULT_ARCH}]")
    parser.add_argument("--nvcc-option", dest="nvcc_options", action="append", default=[],
                        metavar="OPTION", help="of nvcc, as --nvcc-option=--use_fast_math")
    parser.add_argument("--kit", default=Path(__file__).resolve().parent, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="recto-cuda-") as work:
            build(arguments, Path(work))
    except Refusal as refusal:
        print(f"build_cuda_library: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
