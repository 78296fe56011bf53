"""The files under check: which files there are, their kinds and their contents."""

import ast
import os
import posixpath
import re
import subprocess
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Callable, Iterator, Mapping


class Kind(Enum):
    CPP = "C++"
    PYTHON = "Python"
    SHELL = "shell"
    BUILD = "build"
    WEB = "web"
    CONFIG = "config"
    MARKDOWN = "Markdown"
    NOTEBOOK = "notebook"
    DATA = "data"


CODE_KINDS = frozenset({Kind.CPP, Kind.PYTHON, Kind.SHELL, Kind.BUILD, Kind.WEB})

_KIND_OF_SUFFIX = {
    **dict.fromkeys((".h", ".cc", ".cu", ".cuh"), Kind.CPP),
    # Suffixes that this project does not use; read as C++ all the same, so that a new suffix
    # escapes no rule.
    **dict.fromkeys((".c", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inc", ".inl"), Kind.CPP),
    **dict.fromkeys((".bzl", ".bazel", ".BUILD"), Kind.BUILD),
    **dict.fromkeys((".js", ".mjs", ".css", ".html"), Kind.WEB),
    **dict.fromkeys((".txt", ".yml", ".yaml", ".toml", ".cfg", ".ini", ".bazelrc"), Kind.CONFIG),
    ".py": Kind.PYTHON,
    ".sh": Kind.SHELL,
    ".md": Kind.MARKDOWN,
    ".ipynb": Kind.NOTEBOOK,
}
_CONFIG_NAMES = {".bazelrc", ".clang-format", ".clang-tidy", ".gitignore", ".gitattributes"}

# Files in these folders are input, expected output or third-party files, byte for byte, whatever
# their suffix.
_DATA_FOLDERS = {"corpus", "golden", "testdata", "vendored"}

# Only for trees without git: what a build or an editor leaves behind.
_IGNORED_FOLDER = re.compile(r"bazel-.*|__pycache__|node_modules|venv|\.(?!ci$|github$).*")


def kind_of(path: str, shebang: bytes = b"") -> Kind:
    folder, name = posixpath.split(path)
    if _DATA_FOLDERS & set(folder.split("/")):
        return Kind.DATA
    if name in ("BUILD", "WORKSPACE"):
        return Kind.BUILD
    if name in _CONFIG_NAMES:
        return Kind.CONFIG
    suffix = posixpath.splitext(name)[1]
    if suffix in _KIND_OF_SUFFIX:
        return _KIND_OF_SUFFIX[suffix]
    if shebang.startswith(b"#!"):
        return Kind.PYTHON if b"python" in shebang else Kind.SHELL
    return Kind.DATA


class SourceFile:
    """One file; read on first use."""

    def __init__(self, path: str, read: Callable[[], bytes]):
        self.path = path
        self._read = read

    @cached_property
    def data(self) -> bytes:
        return self._read()

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")[: self.line_count]

    @cached_property
    def python_syntax(self) -> ast.Module:
        """The syntax tree of a Python file; empty if Python cannot parse it, see python_error."""
        return ast.Module([], []) if self.python_error else ast.parse(self.text)

    @cached_property
    def python_error(self) -> SyntaxError | None:
        try:
            ast.parse(self.text)
        except SyntaxError as error:
            return error
        return None

    @cached_property
    def line_count(self) -> int:
        return self.data.count(b"\n") + (0 if self.data.endswith(b"\n") or not self.data else 1)

    @cached_property
    def kind(self) -> Kind:
        bare = "." not in self.name
        return kind_of(self.path, self.data.split(b"\n", 1)[0] if bare else b"")

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)

    @property
    def top(self) -> str:
        """The first folder of the path; empty for a file in the root."""
        return self.path.split("/", 1)[0] if "/" in self.path else ""

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.path)[1]

    @property
    def is_header(self) -> bool:
        return self.kind is Kind.CPP and self.suffix not in (".cc", ".cu", ".c", ".cpp", ".cxx")


class SourceTree:
    """All files under check, by path relative to the root."""

    def __init__(self, files: Mapping[str, SourceFile]):
        self._files = dict(sorted(files.items()))

    @staticmethod
    def of_texts(texts: Mapping[str, str | bytes]) -> "SourceTree":
        def reader(text):
            return lambda: text.encode() if isinstance(text, str) else text

        return SourceTree({path: SourceFile(path, reader(text)) for path, text in texts.items()})

    @staticmethod
    def of_folder(root: Path) -> "SourceTree":
        paths = _paths_from_git(root)
        paths = list(_paths_from_walk(root)) if paths is None else paths
        files = {}
        for path in paths:
            on_disk = root / path
            # git still lists what was deleted but not committed; links lead to other files.
            if on_disk.is_file() and not on_disk.is_symlink():
                files[path] = SourceFile(path, on_disk.read_bytes)
        return SourceTree(files)

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self._files.values())

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str) -> SourceFile | None:
        return self._files.get(path)

    def of_kind(self, *kinds: Kind) -> Iterator[SourceFile]:
        return (file for file in self if file.kind in kinds)

    @cached_property
    def folders(self) -> frozenset[str]:
        found = set()
        for path in self._files:
            while path:
                path = posixpath.dirname(path)
                found.add(path)
        return frozenset(found)


def _paths_from_git(root: Path) -> list[str] | None:
    """Committed and new files, without the ignored ones; None if git cannot tell."""
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(path) for path in set(listing.split(b"\0")) if path]


def _paths_from_walk(root: Path) -> Iterator[str]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if not _IGNORED_FOLDER.fullmatch(name)]
        for name in names:
            yield (Path(folder) / name).relative_to(root).as_posix()
