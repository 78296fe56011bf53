"""The files under check, as git lists them: their kinds, texts, and declarations."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Dict, Iterator

import cpp

# The kind of a file goes by its name, its suffix, or its folder.
_KINDS = {
    # Also suffixes that this project does not use, so that a new one escapes no rule.
    "c++": ".h .cc .cu .cuh .c .cpp .cxx .hh .hpp .hxx .inc .inl",
    "python": ".py",
    "shell": ".sh",
    "build": ".bzl .bazel .BUILD BUILD WORKSPACE .bazelrc",
    "web": ".js .mjs .css .html",
    "config": ".txt .yml .yaml .toml .cfg .ini .clang-format .clang-tidy .gitignore",
    "markdown": ".md",
    "notebook": ".ipynb",
}
_KIND_OF = {ending: kind for kind, endings in _KINDS.items() for ending in endings.split()}
# Input, expected output, or published by others: byte for byte, whatever the suffix.
_DATA_FOLDERS = {"corpus", "golden", "testdata", "vendored"}
_EVIDENCE = re.compile(r"_(?:test|fuzz|benchmark)$")
# What a build or an editor leaves behind, for trees without git.
_MADE = re.compile(r"(?:^|/)(?:bazel-|__pycache__/|\.(?!ci/|bazel|clang|gitignore))")

CODE = ("c++", "python", "shell", "build", "web")
TEXT = (*CODE, "config", "markdown")  # written by us


class File:
    def __init__(self, path: str, data: bytes | None = None, root: Path = Path()):
        self.path, self._root = path, root
        self.folder, self.name = posixpath.split(path)
        self.base, self.suffix = posixpath.splitext(path)
        self.top = path.split("/")[0] if self.folder else ""
        # What the file is about: x.cc is tested by x_test.cc.
        self.stem = _EVIDENCE.sub("", self.base)
        self.is_test = self.stem != self.base or "testing" in self.folder.split("/")
        if data is not None:
            self.data = data

    @cached_property
    def data(self) -> bytes:
        return (self._root / self.path).read_bytes()

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")

    @cached_property
    def lower_text(self) -> str:
        return self.text.lower()

    @cached_property
    def kind(self) -> str:
        if _DATA_FOLDERS & set(self.folder.split("/")):
            return "data"
        kind = _KIND_OF.get(self.name) or _KIND_OF.get(self.suffix)
        if kind is None and "." not in self.name and self.data.startswith(b"#!"):
            kind = "python" if b"python" in self.data.split(b"\n", 1)[0] else "shell"
        return kind or "data"

    @property
    def is_header(self) -> bool:
        return self.kind == "c++" and self.suffix.startswith((".h", ".i", ".cuh"))

    @cached_property
    def lines(self) -> list[str]:
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    @cached_property
    def code(self) -> str:
        """The text without comments; in C++ without what is in quotes, too."""
        is_cpp = self.kind == "c++"
        return cpp.code_of(self.text) if is_cpp else re.sub(r"(?m)^ *#.*$", cpp.blank, self.text)

    @cached_property
    def includes(self) -> list[cpp.Include]:
        return cpp.includes_of(self.text, self.code)

    @cached_property
    def declarations(self) -> cpp.Declarations:
        """Of a C++ or Python file."""
        if self.kind == "c++":
            return cpp.Scanner(self.code, self.line_at).found
        try:
            return cpp.Declarations(list(_python_functions(ast.parse(self.text))))
        except SyntaxError as error:
            return cpp.Declarations([], error.lineno or 1)


def _python_functions(module: ast.Module) -> Iterator[cpp.Declaration]:
    nodes: list[ast.AST] = [module]
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            names = [each.arg for each in arguments if each.arg not in ("self", "cls")]
            lines = node.end_lineno - node.lineno + 1
            yield cpp.Declaration(node.name, node.lineno, lines, names)
        for field in ("body", "orelse", "handlers", "finalbody"):
            nodes += getattr(node, field, ())


class Tree(Dict[str, File]):
    """All files under check, by path from the root."""

    @staticmethod
    def of_folder(root: Path) -> Tree:
        """What is committed or new, without what git ignores, and without links."""
        command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
        has_git = (root / ".git").exists()
        listing = subprocess.run(command, capture_output=True).stdout if has_git else b""
        names = [os.fsdecode(name) for name in listing.split(b"\0") if name]
        if not names:
            everything = (path.relative_to(root).as_posix() for path in root.rglob("*"))
            names = [name for name in everything if not _MADE.search(name)]
        there = [name for name in names if os.path.isfile(root / name)]
        there = [name for name in there if not os.path.islink(root / name)]
        return Tree({name: File(name, root=root) for name in sorted(there)})

    def of(self, *kinds: str) -> list[File]:
        return [file for file in self.values() if file.kind in kinds]

    def rows(self, path: str, count: int) -> Iterator[tuple[int, list[str]]]:
        """Line and fields of each row of a table `a | b | c`; missing fields are empty."""
        for number, line in enumerate(self[path].lines if path in self else (), 1):
            if line and not line.startswith("#"):
                fields = [field.strip() for field in line.split(" | ", count - 1)]
                yield number, fields + [""] * (count - len(fields))
