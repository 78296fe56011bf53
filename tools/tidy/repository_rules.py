"""Rules that compare files: dependencies between folders, unused files, documents. Each is a
generator of (path, line, message).
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections import defaultdict
from fnmatch import fnmatch
from typing import Iterator, Tuple
from urllib.parse import unquote

from pattern_rules import rows
from tree import CODE, CPP, File, Tree, blank

Finding = Tuple[str, int, str]

HEAVY = "tools/tidy/heavy_headers.txt"
STYLE = "STYLE.md"
FUNCTION_LINES, PARAMETERS, README_LINES = 60, 5, 60

# The folders that each folder may include besides itself. The three in the middle do not see each
# other: because they are independent, their agreement is evidence.
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


def arrow_include(tree: Tree) -> Iterator[Finding]:
    for file in tree.of(*CPP):
        allowed = {file.top, "bazel"} | SEES.get(file.top, SEES.keys())
        for offset, path in file.includes:
            # <cuda/std/...> is NVIDIA's.
            if path.split("/")[0] in SEES.keys() - allowed and not path.startswith("cuda/std/"):
                yield file.path, file.line_at(offset), f'{file.top}/ includes "{path}"'


def heavy_header(tree: Tree) -> Iterator[Finding]:
    entries = [(line, *fields) for line, fields in rows(tree, HEAVY, 2)]
    used = set()
    for file in tree.of(*CPP):
        for offset, path in file.includes:
            fitting = [entry for entry in entries if path.startswith(entry[1])]
            allowing = [entry for entry in fitting if fnmatch(file.path, entry[2])]
            used.update(allowing)
            if fitting and not allowing:
                yield file.path, file.line_at(offset), f"<{path}>"
    for line, prefix, pattern in entries:
        if (line, prefix, pattern) not in used:
            yield HEAVY, line, f"{pattern} does not include <{prefix}...>"


def dead_header(tree: Tree) -> Iterator[Finding]:
    users = defaultdict(set)
    for file in tree.of(*CPP):
        for _, path in file.includes:
            # x.cu instantiates the templates of x.cuh, and is compiled on its own.
            is_instantiation = file.suffix == ".cu" and path == file.path + "h"
            users[path].add(file.path if is_instantiation else file.stem)
    for file in tree.of("header"):
        if not users[file.path] - {file.stem}:
            yield file.path, 1, "only its own .cc and tests include this header"


# A test program without `srcs` has all test files of its folder.
_TAKES_ALL_TESTS = re.compile(r"\brecto_test\((?:(?!\bsrcs\b)[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def dead_file(tree: Tree) -> Iterator[Finding]:
    """Files that no macro of bazel/defs.bzl finds by glob: a test may never run."""
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
                yield file.path, 1, "no BUILD file names this file"


# Beginnings of blocks that are not functions: types, namespaces, tables of values.
_NO_FUNCTION = re.compile(
    r"(?:\w+ )*(?:class|struct|union|enum|namespace)\b|extern\b|[^(]*=\s*\{|[^(]*=$|[^(]*\w\{$"
)


def function_lines(tree: Tree) -> Iterator[Finding]:
    """In C++ by the indentation that clang-format gives: a function ends with the brace that stands
    below its first line.
    """
    for file in tree.of(*CPP):
        lines = file.code.split("\n")
        for first, last in _blocks(lines):
            head = lines[first + _is_template(lines[first])].strip()
            count = last - first + 1
            if count > FUNCTION_LINES and not _NO_FUNCTION.match(head):
                yield file.path, first + 1, f"{count} lines, not {FUNCTION_LINES}"
    for path, function in _python_functions(tree):
        count = function.end_lineno - function.lineno + 1
        if count > FUNCTION_LINES:
            yield path, function.lineno, f"{count} lines, not {FUNCTION_LINES}"


def python_parameters(tree: Tree) -> Iterator[Finding]:
    for path, function in _python_functions(tree):
        each = function.args
        names = [name.arg for name in each.posonlyargs + each.args + each.kwonlyargs]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > PARAMETERS:
            yield path, function.lineno, f"{function.name} takes {count}, not {PARAMETERS}"


def _python_functions(tree: Tree) -> Iterator[tuple[str, ast.FunctionDef]]:
    """All but the public ones of the Python package: these take many arguments, by keyword, and
    document each; those of its tests have the signatures of engines.
    """
    for file in tree.of("python"):
        for function in file.python_functions:
            if file.top != "python" or function.name.startswith("_"):
                yield file.path, function


def _blocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """First and last line of each statement that ends with a brace on a line of its own."""
    begins: dict[int, int] = {}  # by indentation: where the statement that is being read begins
    for number, line in enumerate(lines):
        if not line.strip() or line.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        begins = {at: begin for at, begin in begins.items() if at <= indent}
        before = begins.get(indent)
        if line[indent] == "}":
            yield begins.pop(indent, number), number
        elif before is None or before < number - 1 or not _is_template(lines[before]):
            begins[indent] = number


def _is_template(line: str) -> bool:
    """Whether the next line belongs to this one."""
    return line.lstrip().startswith("template")


def folder_readme(tree: Tree) -> Iterator[Finding]:
    suffixes = (".h", ".cc", ".cu", ".cuh", ".py", ".sh")
    folders = {file.folder for file in tree.of(*CODE) if file.suffix in suffixes} - {""}
    # A Python distribution's README is that of its package and tests: tools prescribe the folders.
    packages = tuple(f"{file.folder}/" for file in tree.values() if file.name == "pyproject.toml")
    folders = {folder for folder in folders if not folder.startswith(packages)}
    for path in sorted(f"{folder}/README.md" for folder in folders):
        lines = tree[path].text.count("\n") if path in tree else 0
        if not 0 < lines <= README_LINES:
            yield path, 1, f"{lines} lines, not 1 to {README_LINES}"


_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|^\s{0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:|//")
# Names that begin with _ and names with NAME are patterns in documents.
_NAMED_FILE = re.compile(
    r"`(?:\.{1,2}/)*(?!(?:[^`]*/)?_|[^`]*[A-Z]{2})([\w/.-]*\w\.(?:cc|cuh?|h|py|sh|bzl))`"
)


def _links(document: File) -> Iterator[tuple[int, str]]:
    """Offset and path from the root of each link to a file, without those in samples of code."""
    text = re.sub(r"`[^`\n]+`", blank, _FENCED.sub(blank, document.text))
    for match in _LINK.finditer(text):
        link = unquote(match[1] or match[2]).split("#")[0]
        if link and not _SCHEME.match(link):
            yield match.start(), posixpath.normpath(posixpath.join(document.folder, link))


def broken_link(tree: Tree) -> Iterator[Finding]:
    there = {"."}
    for path in tree:
        parts = path.split("/")
        there.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    for document in tree.of("markdown"):
        for offset, path in _links(document):
            if path not in there:
                yield document.path, document.line_at(offset), f"the link to {path} leads nowhere"


def doc_linked(tree: Tree) -> Iterator[Finding]:
    documents = tree.of("markdown")
    linked = {path for file in documents for _, path in _links(file) if path != file.path}
    for document in documents:
        if document.top == "docs" and document.path not in linked:
            yield document.path, 1, "no other document links here"


def named_file(tree: Tree) -> Iterator[Finding]:
    """Names such as `name.py` or `folder/name.py` in the text that match no file's path."""
    ends = set()
    for path in tree:
        parts = path.split("/")
        ends.update("/".join(parts[at:]) for at in range(len(parts)))
    for document in tree.of("markdown"):
        for match in _NAMED_FILE.finditer(_FENCED.sub(blank, document.text)):
            if match[1] not in ends:
                line = document.line_at(match.start())
                yield document.path, line, f"{match[1]}: there is no such file"


def style_map(tree: Tree, names: set[str]) -> Iterator[Finding]:
    """STYLE.md names each rule, and its rules of other tools are in their configurations."""
    text = tree[STYLE].text if STYLE in tree else ""
    configurations = "".join(file.text for file in tree.of("build", "config"))
    named = set(re.findall(r"`([a-z-]+):([^`|:]+)`", text))
    for tool, name in sorted(named):
        if tool != "tidy" and name not in configurations:
            yield STYLE, 1, f"{tool} has no {name}"
    for name in sorted(names ^ {name for tool, name in named if tool == "tidy"}):
        yield STYLE, 1, f"tidy:{name} is not both a row here and a rule"
