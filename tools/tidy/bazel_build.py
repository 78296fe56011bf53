"""Reads BUILD files by running them as Python with every rule replaced by a recorder.

Starlark is a subset of Python, so comprehensions, format strings and glob() come out exactly as
Bazel sees them, without a custom parser.
"""

import ast
import posixpath
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Iterator

from source_tree import Kind, SourceFile, SourceTree

_BUILD_NAMES = ("BUILD", "BUILD.bazel")
_TEST_RULE = re.compile(r"(^|_)(test|tests|fuzz|benchmark)(_|$)")
# Attributes whose labels are neither code nor data.
_NOT_INPUTS = {"name", "visibility", "tags", "features", "toolchains", "licenses", "restricted_to"}
_NOT_TARGETS = {"package", "licenses", "exports_files", "package_group", "workspace"}
_STARLARK_BUILTINS = {
    function.__name__: function
    for function in (
        *(all, any, bool, dict, enumerate, int, len, list, max, min, range, repr, reversed),
        *(sorted, str, tuple, zip, print),
    )
}


@dataclass(frozen=True)
class Target:
    package: str
    rule: str
    name: str
    line: int
    attributes: dict[str, tuple[str, ...]]  # every string in each, lists and selects flattened
    is_test_only: bool

    def inputs(self) -> Iterator[tuple[str, str]]:
        """(attribute, label) for everything that the target is made of."""
        for attribute, labels in self.attributes.items():
            if attribute not in _NOT_INPUTS:
                yield from ((attribute, label) for label in labels)


@dataclass(frozen=True)
class Package:
    folder: str
    path: str  # of the BUILD file
    targets: list[Target]
    error: str | None = None  # why it could not be read


def package_of_label(label: str, package: str) -> str | None:
    """The package that a label names; None for one in another repository."""
    if label.startswith("//"):
        return label[2:].split(":")[0]
    return None if label.startswith("@") else package


def file_of_label(label: str, package: str) -> str | None:
    """The path that a label names, if it names a file of this repository."""
    if label.startswith("@"):
        return None
    if label.startswith("//"):
        folder, _, name = label[2:].partition(":")
        return posixpath.join(folder, name) if name else None
    return posixpath.join(package, label.removeprefix(":"))


class BuildFiles:
    def __init__(self, tree: SourceTree):
        self._tree = tree
        self._folders = {
            file.folder: file.path for file in tree if file.name in _BUILD_NAMES
        }

    @cached_property
    def packages(self) -> list[Package]:
        return [self._read(folder) for folder in sorted(self._folders)]

    @cached_property
    def named_files(self) -> frozenset[str]:
        """Every path that belongs to some target, or that a .bzl file or WORKSPACE mentions."""
        named = set(self._mentioned_in_starlark())
        for package in self.packages:
            for target in package.targets:
                for _, label in target.inputs():
                    named.add(file_of_label(label, package.folder))
        return frozenset(path for path in named if path)

    @cached_property
    def test_files(self) -> frozenset[str]:
        """Files that belong only to tests and test-only libraries."""
        in_tests, in_programs = set(), set()
        for package in self.packages:
            for target in package.targets:
                owners = in_tests if target.is_test_only else in_programs
                for attribute in ("srcs", "hdrs", "textual_hdrs"):
                    for label in target.attributes.get(attribute, ()):
                        owners.add(file_of_label(label, package.folder))
        return frozenset(path for path in in_tests - in_programs if path)

    def package_of_file(self, path: str) -> str:
        folder = posixpath.dirname(path)
        while folder and folder not in self._folders:
            folder = posixpath.dirname(folder)
        return folder

    def _mentioned_in_starlark(self) -> Iterator[str | None]:
        for file in self._tree.of_kind(Kind.BUILD):
            if file.name not in _BUILD_NAMES:
                for text in re.findall(r'"([^"\n]+)"', file.text):
                    yield file_of_label(text, file.folder)

    def _read(self, folder: str) -> Package:
        path = self._folders[folder]
        file = self._tree.get(path)
        recorder = _Recorder(folder, lambda *args: self._glob(folder, *args))
        try:
            recorder.run(file, lambda label: self._constants(label, folder))
        except Exception as error:  # BUILD files are code: they may fail in any way.
            return Package(folder, path, recorder.targets, f"{type(error).__name__}: {error}")
        return Package(folder, path, recorder.targets)

    def _glob(self, folder: str, include: list[str], exclude: list[str]) -> list[str]:
        inside = folder + "/" if folder else ""
        wanted = [_glob_pattern(pattern) for pattern in include]
        unwanted = [_glob_pattern(pattern) for pattern in exclude]
        found = []
        for file in self._tree:
            if file.path.startswith(inside) and self.package_of_file(file.path) == folder:
                name = file.path[len(inside) :]
                if any(pattern.fullmatch(name) for pattern in wanted):
                    if not any(pattern.fullmatch(name) for pattern in unwanted):
                        found.append(name)
        return found

    def _constants(self, label: str, folder: str) -> dict[str, Any]:
        """The literals that a .bzl file binds; computed values remain recorded rules."""
        file = self._tree.get(file_of_label(label, folder) or "")
        if file is None:
            return {}
        constants = {}
        for node in ast.parse(file.text).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    constants[node.targets[0].id] = ast.literal_eval(node.value)
                except ValueError:
                    continue
        return constants


class _Recorder:
    """Runs one BUILD file and keeps the targets that it declares."""

    def __init__(self, folder: str, glob):
        self.targets: list[Target] = []
        self._folder = folder
        self._glob = glob
        self._default_test_only = False

    def run(self, file: SourceFile, constants_of) -> None:
        syntax = ast.parse(file.text, file.path)
        names = {node.id for node in ast.walk(syntax) if isinstance(node, ast.Name)}
        namespace: dict[str, Any] = {name: self._rule(name) for name in names}
        for name in _STARLARK_BUILTINS:
            namespace.pop(name, None)

        def load(label, *symbols, **renamed):
            constants = constants_of(label)
            for name, symbol in [*zip(symbols, symbols), *renamed.items()]:
                namespace[name] = constants.get(symbol, self._rule(symbol))

        namespace |= {
            "__builtins__": _STARLARK_BUILTINS,
            "load": load,
            "glob": lambda include, exclude=(), **_: self._glob(include, exclude),
            "select": lambda branches, **_: [*_strings(list(branches.values()))],
            "package": self._package,
        }
        exec(compile(syntax, file.path, "exec"), namespace)

    def _package(self, **attributes) -> None:
        self._default_test_only = bool(attributes.get("default_testonly"))

    def _rule(self, rule: str):
        def record(*_, name="", **attributes):
            if rule in _NOT_TARGETS:
                return
            # Macros of this project are tests by their name, as rules are.
            test_only = attributes.get("testonly", self._default_test_only)
            self.targets.append(
                Target(
                    self._folder,
                    rule,
                    name,
                    sys._getframe(1).f_lineno,
                    {key: tuple(_strings(value)) for key, value in attributes.items()},
                    bool(test_only) or bool(_TEST_RULE.search(rule)),
                )
            )

        return record


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _glob_pattern(pattern: str) -> re.Pattern:
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern)
    meaning = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts))
