"""The files under check, as git lists them: their kinds, texts and code."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Dict

# A file's kind depends on its name, suffix, or folder.
_KINDS = {
    # Also suffixes that this project does not use, so that a new one escapes no rule.
    "c++": ".cc .cu .c .cpp .cxx",
    "header": ".h .cuh .hh .hpp .hxx .inc .inl",
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
# Files of builds and editors, for trees without git.
_MADE = re.compile(r"(?:^|/)(?:bazel-|__pycache__/|\.(?!ci/|bazel|clang|gitignore))")

CPP = ("c++", "header")
CODE = (*CPP, "python", "shell", "build", "web")

_NO_CODE = re.compile(  # each alternative begins with a different character, for speed
    r"""
      (?P<include> ^[ \t]*\#[ \t]*include\b[^\n]* )
    | (?P<comment> //(?:[^\n\\]|\\.)* | /\*.*?(?:\*/|\Z) )
    | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*"
    | '(?<![0-9A-Fa-f']')(?:[^'\\\n]|\\.)+'  # in 1'000 the quote stands between digits
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _blank_inside(match: re.Match) -> str:
    text = match.group()
    if match["include"]:
        return text
    every = re.sub(r"[^\n\\]|\\(?!\n)", " ", text)  # but for the marks of lines that go on
    return every if match["comment"] else text[0] + every[1:-1] + text[-1]


class File:
    def __init__(self, path: str, data: bytes | None = None, root: Path = Path()):
        self.path, self._root = path, root
        self.folder, self.name = posixpath.split(path)
        self.base, self.suffix = posixpath.splitext(path)
        self.top = path.split("/")[0] if self.folder else ""
        # The stem that a file shares with its tests: x.cc is tested by x_test.cc.
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

    @cached_property
    def code(self) -> str:
        """The text with blanks for comments, and in C++ also for quoted text."""
        if self.kind in CPP:
            return _NO_CODE.sub(_blank_inside, self.text)
        return re.sub(r"(?m)^ *#.*$", blank, self.text)

    @cached_property
    def includes(self) -> list[tuple[int, str]]:
        """Offset and path of each #include, on both sides of an #if."""
        found = re.finditer(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)', self.code, re.MULTILINE)
        return [(match.start(), match[1]) for match in found]

    @cached_property
    def python_functions(self) -> list[ast.FunctionDef]:
        return [node for node in ast.walk(ast.parse(self.text))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1


class Tree(Dict[str, File]):
    """All files under check, by path from the root."""

    @staticmethod
    def of_folder(root: Path) -> Tree:
        """Committed and new files, without ignored files and links."""
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
