"""What files may include and import, and that each is built and used."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from fnmatch import fnmatch
from typing import Iterator

from rules import Finding, found, rule
from tree import Tree

HEAVY = "tools/tidy/heavy_headers.txt"

# What each folder may include beside itself. The three in the middle do not see each other: that
# independence is what makes agreement between them evidence.
_PARTS = {"reference", "sim", "cuda"}
_UP_TO_VERIFY = {"core", "verify"} | _PARTS
SEES: dict[str, set[str]] = {
    "core": set(),
    **{part: {"core"} for part in _PARTS},
    "verify": {"core"} | _PARTS,
    "experiments": _UP_TO_VERIFY,
    "python": _UP_TO_VERIFY | {"experiments"},
    "judged": _UP_TO_VERIFY | {"experiments"},
    "notebooks": set(),
    "tools": set(),
    "bazel": {"core"},  # test mains install the handler of core/contract.h
}

# Folders that compile where no CUDA Toolkit is.
_WITHOUT_CUDA = ("core/", "reference/", "sim/", "cuda/cache/", "bazel/")
_CUDA_HEADER = re.compile(
    r"(?:cuda|cub|thrust|cooperative_groups|nv|cutlass|cute)/.*|cuda\w*\.h|cooperative_groups\.h"
    r"|cu(?:rand|blas|fft|sparse|solver)\w*\.h|device_launch_parameters\.h|mma\.h|nv\w+\.h"
    r"|driver_types\.h|vector_types\.h"
)


@rule("what both need belongs to core, where they meet belongs to verify")
def arrow_include(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++"):
        for include in file.includes:
            seen = include.path.split("/")[0]
            is_ours = include.is_quoted or include.path in tree  # <cuda/std/...> is NVIDIA's
            allowed = {file.top, "bazel"} | SEES.get(file.top, SEES.keys())
            if is_ours and seen in SEES.keys() - allowed:
                yield found(file, include.offset, f'{file.top}/ includes "{include.path}"')


@rule(
    'write ours as "folder/file.h" from the root, everybody else\'s as <file.h>', spares_files=True
)
def include_path(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++"):
        for include in file.includes:
            if ".." in include.path.split("/"):
                yield found(file, include.offset, f"{include.path} climbs folders")
            elif include.is_quoted != (include.path in tree):
                what = "not in this repository" if include.is_quoted else "ours"
                yield found(file, include.offset, f"{include.path} is {what}")


@rule("move it to the top")
def own_header_first(tree: Tree) -> Iterator[Finding]:
    for file in tree.of("c++"):
        own, first = file.base + ".h", file.includes[:1]
        if file.suffix == ".cc" and own in tree and not (first and first[0].path == own):
            yield found(file, first[0].offset if first else 0, f'"{own}" is not included first')


@rule(f"keep it in the files that {HEAVY} lists, and strike off what no longer includes it")
def heavy_header(tree: Tree) -> Iterator[Finding]:
    rows = [(line, *fields) for line, fields in tree.rows(HEAVY, 2)]
    used = set()
    for file in tree.of("c++"):
        for include in file.includes:
            fitting = [row for row in rows if include.path.startswith(row[1])]
            allowing = [row for row in fitting if fnmatch(file.path, row[2])]
            used.update(allowing)
            if fitting and not allowing:
                yield found(file, include.offset, f"<{include.path}>")
    for line, prefix, pattern in rows:
        if (line, prefix, pattern) not in used:
            yield Finding(HEAVY, line, f"{pattern} does not include <{prefix}...>")


@rule("host code builds without the toolkit; device code belongs to cuda/kernels")
def cuda_free(tree: Tree) -> Iterator[Finding]:
    reached: dict[str, str | None] = {}

    def way_to_cuda(path: str) -> str | None:
        """The CUDA header that an include reaches, through any number of our own headers."""
        if path not in tree:
            return path if _CUDA_HEADER.fullmatch(path) else None
        if path not in reached:
            reached[path] = None  # ends cycles
            ways = (way_to_cuda(inner.path) for inner in tree[path].includes)
            reached[path] = next((way for way in ways if way), None)
        return reached[path]

    for file in tree.of("c++"):
        for include in file.includes if file.path.startswith(_WITHOUT_CUDA) else ():
            if way := way_to_cuda(include.path):
                yield found(file, include.offset, f"<{way}> is included, here or by what is")


@rule("use it, delete it, or list it in allowed.txt as public", spares_files=True)
def dead_header(tree: Tree) -> Iterator[Finding]:
    users = defaultdict(set)
    for file in tree.of("c++"):
        for include in file.includes:
            # x.cu instantiates the templates of x.cuh, and is compiled on its own.
            is_instantiation = file.suffix == ".cu" and include.path == file.path + "h"
            users[include.path].add(file.path if is_instantiation else file.stem)
    for file in tree.of("c++"):
        if file.is_header and not users[file.path] - {file.stem}:
            yield Finding(file.path, 1, "nobody but its own .cc and tests includes this header")


# A test program without a list of its own has all test files of its folder.
_TAKES_ALL_TESTS = re.compile(
    r"\brecto_test\((?:(?!\bsrcs\b)[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)


@rule("add it to a target, delete it, or list it in allowed.txt as run by hand", spares_files=True)
def dead_file(tree: Tree) -> Iterator[Finding]:
    """Files that no macro of bazel/defs.bzl takes by itself: a test may never run."""
    starlark = defaultdict(str)
    for file in tree.of("build"):
        starlark[file.folder] += file.code.replace("%s", "*")
    everywhere = "".join(starlark.values())
    for file in tree.of("c++", "python", "shell"):
        if file.path.endswith((".py", ".sh", ".cu", "_fuzz.cc", "_test.cc")):
            package = file.folder
            while package and package not in starlark:
                package = posixpath.dirname(package)
            name = file.path[len(package) :].lstrip("/")
            strings = set(re.findall(r'":?([^"\n]+)"', starlark[package]))
            is_glob = any("*" in text and fnmatch(name, text) for text in strings)
            is_named = name in strings or posixpath.splitext(name)[0] in strings
            is_taken = name.endswith("_test.cc") and _TAKES_ALL_TESTS.search(starlark[package])
            if not (is_glob or is_named or is_taken or f'{package}:{name}"' in everywhere):
                yield Finding(file.path, 1, "no BUILD file names this file")
