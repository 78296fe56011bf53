"""The allowed dependencies between folders, by #include lines, BUILD labels and imports."""

import ast
import json
import re
from typing import Iterator

from bazel_build import Target, file_of_label, package_of_label
from cpp_text import Include
from project import Project
from rule import Finding, Rule
from source_tree import Kind, SourceFile

# What each folder may depend on. The three in the middle do not depend on each other: that
# independence is what makes agreement between them evidence.
_VOCABULARY = {"core"}
_PARTS = {"reference", "sim", "cuda"}
_SEES = {
    "core": _VOCABULARY,
    **{part: _VOCABULARY | {part} for part in _PARTS},
    "verify": _VOCABULARY | _PARTS | {"verify"},
    "experiments": _VOCABULARY | _PARTS | {"verify", "experiments"},
    "notebooks": {"notebooks"},
    "tools": {"tools"},
    "bazel": _VOCABULARY | {"bazel"},  # test mains install the handler of core/contract.h
}
_CODE_FOLDERS = frozenset(_SEES)
_CODE_ATTRIBUTES = {"srcs", "hdrs", "textual_hdrs", "deps", "implementation_deps"}

# Folders that must compile where no CUDA Toolkit is.
_WITHOUT_CUDA = ("core/", "reference/", "sim/", "cuda/cache/", "bazel/")
_CUDA_HEADER = re.compile(
    r"(cuda|cub|thrust|cooperative_groups|nv|cutlass|cute)/|cuda\w*\.h|cooperative_groups\.h"
    r"|cu(rand|blas|fft|sparse|solver)\w*\.h|device_launch_parameters\.h|mma\.h|nv\w+\.h"
    r"|driver_types\.h|vector_types\.h"
)


def _may_see(viewer: str, seen: str) -> bool:
    return seen not in _CODE_FOLDERS or seen in _SEES.get(viewer, _CODE_FOLDERS)


def _sees(viewer: str) -> str:
    return ", ".join(sorted(_SEES[viewer]))


def find_forbidden_includes(project: Project) -> Iterator[Finding]:
    for file, include in _project_includes(project):
        seen = include.path.split("/", 1)[0]
        # Whether bazel/testing may be included depends on the file: test-only-include.
        if seen != "bazel" and not _may_see(file.top, seen):
            yield Finding(
                file.path,
                include.line,
                f'{file.top}/ includes "{include.path}"',
                f"{file.top} sees only {_sees(file.top)}; what both need belongs to core,"
                " where they meet belongs to verify",
            )


def find_forbidden_deps(project: Project) -> Iterator[Finding]:
    for package in project.build.packages:
        viewer = package.folder.split("/", 1)[0]
        for target in package.targets:
            for attribute, label in target.inputs():
                if _is_forbidden_label(viewer, attribute, label):
                    yield Finding(
                        package.path,
                        target.line,
                        f'"{target.name}" names {label} in {attribute}',
                        f"{viewer} sees only {_sees(viewer)}",
                    )


def _is_forbidden_label(viewer: str, attribute: str, label: str) -> bool:
    if not label.startswith("//"):
        return False
    seen = label[2:].split(":")[0].split("/")[0]
    if attribute in _CODE_ATTRIBUTES:
        return seen != "bazel" and not _may_see(viewer, seen)
    # Notebooks are there to read files that experiments wrote, and running a tool is not a
    # dependency on it.
    is_read = viewer == "notebooks" and seen == "experiments"
    return not is_read and seen not in ("bazel", "tools") and not _may_see(viewer, seen)


def find_notebook_imports(project: Project) -> Iterator[Finding]:
    for file in project.tree:
        if file.top != "notebooks" or file.kind not in (Kind.NOTEBOOK, Kind.PYTHON):
            continue
        for line, module in _imports(file):
            if module.split(".")[0] in _CODE_FOLDERS - {"notebooks"}:
                yield Finding(
                    file.path,
                    line,
                    f"a notebook imports {module}",
                    "notebooks read only the files that experiments wrote",
                )


def _imports(file: SourceFile) -> Iterator[tuple[int, str]]:
    if file.kind is Kind.NOTEBOOK:
        try:
            cells = json.loads(file.text).get("cells", [])
        except ValueError:
            return
        # Cells may hold %magic, which is not Python, so lines are matched, not parsed.
        code = "\n".join("".join(c.get("source", "")) for c in cells if c["cell_type"] == "code")
        yield from ((1, name) for name in re.findall(r"(?m)^\s*(?:from|import)\s+([\w.]+)", code))
        return
    for node in ast.walk(file.python_syntax):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def find_bad_include_paths(project: Project) -> Iterator[Finding]:
    generated = _generated_headers(project)
    remedy = 'write ours as "folder/file.h" from the root, everybody else\'s as <file.h>'
    for file in project.cpp_files:
        for include in project.includes(file):
            exists = include.path in project.tree or include.path in generated
            if ".." in include.path.split("/"):
                yield Finding(file.path, include.line, f"{include.path} climbs folders", remedy)
            elif include.is_quoted and not exists:
                message = f'"{include.path}" is not in this repository'
                yield Finding(file.path, include.line, message, remedy)
            elif not include.is_quoted and include.path in project.tree:
                yield Finding(file.path, include.line, f"<{include.path}> is ours", remedy)


def find_own_headers_included_late(project: Project) -> Iterator[Finding]:
    """They show that a header compiles on its own: bazel/defs.bzl compiles no other probe."""
    for file in project.cpp_files:
        own = re.sub(r"\.cc$", ".h", file.path)
        includes = project.includes(file)
        if own == file.path or own not in project.tree or includes[:1] and includes[0].path == own:
            continue
        line = includes[0].line if includes else 1
        yield Finding(file.path, line, f'"{own}" is not included first', "move it to the top")


def _generated_headers(project: Project) -> set[str | None]:
    return {
        file_of_label(output, package.folder)
        for package in project.build.packages
        for target in package.targets
        for attribute in ("outs", "out")
        for output in target.attributes.get(attribute, ())
    }


def find_test_only_includes(project: Project) -> Iterator[Finding]:
    remedy = "only tests, fuzz tests, benchmarks and testonly libraries may; ship no test code"
    for file, include in _project_includes(project):
        if project.is_test_support(include.path) and not project.is_test(file):
            message = f'"{include.path}" is there for tests'
            yield Finding(file.path, include.line, message, remedy)
    for package in project.build.packages:
        for target in package.targets:
            for label in target.attributes.get("deps", ()):
                if not target.is_test_only and _names_test_package(target, label):
                    message = f'"{target.name}" depends on {label}, which is there for tests'
                    yield Finding(package.path, target.line, message, remedy)


def _names_test_package(target: Target, label: str) -> bool:
    package = package_of_label(label, target.package)
    return package is not None and "testing" in package.split("/")


def find_cuda_headers(project: Project) -> Iterator[Finding]:
    reached: dict[str, str | None] = {}
    for file in project.cpp_files:
        if not file.path.startswith(_WITHOUT_CUDA):
            continue
        for include in project.includes(file):
            path = _way_to_cuda(project, include, reached)
            if path:
                yield Finding(
                    file.path,
                    include.line,
                    f"<{path}> is a CUDA header, included here or by what is included",
                    "host code builds without the toolkit; device code belongs to cuda/kernels",
                )


def _way_to_cuda(project: Project, include: Include, reached: dict) -> str | None:
    """The CUDA header that an include reaches, through any number of our own headers."""
    file = project.tree.get(include.path)
    if file is None:
        return include.path if _CUDA_HEADER.fullmatch(include.path) or (
            "/" in include.path and _CUDA_HEADER.match(include.path)
        ) else None
    if file.path not in reached:
        reached[file.path] = None  # ends cycles
        ways = (_way_to_cuda(project, inner, reached) for inner in project.includes(file))
        reached[file.path] = next((way for way in ways if way), None)
    return reached[file.path]


def _project_includes(project: Project) -> Iterator[tuple[SourceFile, Include]]:
    for file in project.cpp_files:
        for include in project.includes(file):
            if include.path in project.tree or include.path.split("/")[0] in _CODE_FOLDERS:
                # <cuda/std/...> is NVIDIA's.
                if include.is_quoted or include.path in project.tree:
                    yield file, include


RULES = (
    Rule("arrow-include", find_forbidden_includes),
    Rule("arrow-dep", find_forbidden_deps),
    Rule("arrow-notebook", find_notebook_imports),
    Rule("include-path", find_bad_include_paths, takes_exceptions=True),
    Rule("own-header-first", find_own_headers_included_late),
    Rule("test-only-include", find_test_only_includes),
    Rule("cuda-free", find_cuda_headers),
)
