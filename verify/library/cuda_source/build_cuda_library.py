#!/usr/bin/env python3
"""Builds a kernel library from unchanged CUDA sources, for the executor of verify/simt.

    build_cuda_library.py [SOURCE.cu ...] --adapter ADAPTER.cc -o LIBRARY.so [-I FOLDER] [-D MACRO]

The adapter is C++ (recto_cuda_adapter.h) and defines recto_kernel_table() of recto_kernel.h; it may
launch kernels itself. The executor checks every memory access of the kernels. Headers are searched
in the including file's folder, in the folders of -I, among the kit's framework headers, and in the
CUDA Toolkit. A source that the adapter includes is not compiled a second time.

This script is part of the kit, a folder with everything that it needs.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cuda_text import Failure
from translate import translate

INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>)',
    re.M,
)


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
        self.toolkit = Path(flags["toolkit"]) / "include"
        if not (self.toolkit / "cuda_runtime.h").is_file():
            raise Refusal(
                f"no CUDA Toolkit: no {self.toolkit / 'cuda_runtime.h'} any more; recto looked in "
                f"{flags['searched']} when it was built"
            )
        include = folder / "include"
        self.include_folders = [
            include,
            include / "verify/library/cuda_source",
            include / "verify/library",
            *(include / name for name in flags["include_folders"]),
        ]


class Sources:
    """The user's files, translated into a folder with the same layout as on the disk."""

    def __init__(self, folder, include_folders):
        self.folder = folder
        self.include_folders = [Path(name).resolve() for name in include_folders]
        self.shown = {}  # by file: its name in messages
        self.includes = {}  # by file: the user's files that it includes

    def place(self, file):
        return self.folder / file.relative_to("/")

    def add(self, shown):
        file = Path(shown).resolve()
        if file in self.shown:
            return file
        self.shown[file] = shown
        if file.exists() and not file.is_file() and not file.is_dir():
            raise Refusal(f"{shown}: expected a file, found a pipe or a device")
        try:
            text = file.read_text(encoding="utf-8")
            translated = translate(text, shown)
        except OSError as error:
            raise Refusal(f"{shown}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Refusal(f"{shown}: expected UTF-8: {error}") from error
        except Failure as failure:
            raise Refusal(f"{shown}:{failure}") from failure
        place = self.place(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(translated, encoding="utf-8")
        self.includes[file] = [self.add(name) for name in self.included(file, shown, text)]
        return file

    def included(self, file, shown, text):
        """The names of the included files that are the user's and exist."""
        for match in INCLUDE.finditer(text):
            name = match["quoted"] or match["angled"]
            beside = [(file.parent, Path(shown).parent)] if match["quoted"] else []
            for folder, shown_folder in beside + [(f, f) for f in self.include_folders]:
                if (folder / name).is_file():
                    yield os.path.normpath(shown_folder / name)
                    break

    def reached_from(self, file):
        reached, left = set(), [file]
        while left:
            for other in self.includes[left.pop()]:
                if other not in reached:
                    reached.add(other)
                    left.append(other)
        return reached


def run(command, what):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Refusal(f"{what}:\n{result.stdout}{result.stderr}".rstrip())
    return result.stdout


def compile_source(kit, sources, file, macros, target):
    folders = [sources.place(folder) for folder in sources.include_folders]
    # Only translated headers of the user can be included.
    folders += sources.include_folders + kit.include_folders
    command = [kit.compiler, *kit.copts]
    command += [f"-I{folder}" for folder in folders] + ["-isystem", str(kit.toolkit)]
    command += [f"-D{macro}" for macro in macros]
    command += ["-x", "c++", "-c", str(sources.place(file)), "-o", str(target)]
    run(command, f"{sources.shown[file]} does not compile")
    return target


def build(arguments, work):
    kit = Kit(Path(arguments.kit))
    sources = Sources(work / "translated", arguments.include_folders)
    adapter = sources.add(arguments.adapter)
    files = [sources.add(name) for name in arguments.sources]
    in_adapter = sources.reached_from(adapter)
    compiled = [adapter] + [file for file in dict.fromkeys(files) if file not in in_adapter]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(
            pool.map(
                lambda pair: compile_source(
                    kit, sources, pair[1], arguments.macros, work / f"{pair[0]}.o"
                ),
                enumerate(compiled),
            )
        )
    symbols = run(["nm", "--defined-only", str(objects[0])], "nm")
    if not re.search(r" T recto_kernel_table$", symbols, re.M):
        raise Refusal(
            f"{arguments.adapter}: expected a definition of recto_kernel_table(), as "
            "recto_kernel.h declares it"
        )
    exported = work / "exported.map"
    exported.write_text("{ global: recto_kernel_table; local: *; };\n", encoding="utf-8")
    command = [kit.compiler, "-shared", "-Wl,--no-undefined", f"-Wl,--version-script={exported}"]
    command += [str(file) for file in objects]
    archive = str(kit.folder / "libexecutor.a")
    command += ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    command += [*kit.linkopts, "-lpthread", "-ldl", "-o", arguments.output]
    run(command, "the library cannot be linked")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE.cu")
    parser.add_argument("--adapter", required=True, metavar="ADAPTER.cc")
    parser.add_argument("-o", "--output", required=True, metavar="LIBRARY.so")
    parser.add_argument(
        "-I", dest="include_folders", action="append", default=[], metavar="FOLDER"
    )
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="MACRO[=VALUE]")
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
