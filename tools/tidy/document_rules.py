"""Every folder has its explanation, every document can be found, every link and every name of a
file is right, and STYLE.md and its checks agree.
"""

from __future__ import annotations

import posixpath
import re
from typing import Iterator
from urllib.parse import unquote

import cpp
from rules import RULES, Finding, found, rule
from tree import CODE, File, Tree

README_LINES, STYLE_LINES = 60, 120
STYLE = "STYLE.md"

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|^\s{0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:|//")
# Names that begin with _ and names with NAME are patterns in documents.
_NAMED_FILE = re.compile(
    r"`(?:\.{1,2}/)*(?!(?:[^`]*/)?_|[^`]*[A-Z]{2})([\w/.-]*\w\.(?:cc|cuh?|h|py|sh|bzl))`"
)
_ENFORCER = re.compile(r"`(tidy|clang-tidy|clang-format|compiler|bazel):([^`]*)`|\b(review)\b")


@rule("a page: what it is for, its parts in reading order, what it may not know about")
def folder_readme(tree: Tree) -> Iterator[Finding]:
    suffixes = (".h", ".cc", ".cu", ".cuh", ".py", ".sh")
    folders = {file.folder for file in tree.of(*CODE) if file.suffix in suffixes}
    for path in sorted(f"{folder}/README.md" for folder in folders - {""}):
        lines = len(tree[path].lines) if path in tree else 0
        if not 0 < lines <= README_LINES:
            yield Finding(path, 1, f"{lines} lines, not 1 to {README_LINES}")


def _links(document: File) -> Iterator[tuple[int, str]]:
    """Offset and path from the root of each link to a file, without those in samples of code."""
    text = re.sub(r"`[^`\n]+`", cpp.blank, _FENCED.sub(cpp.blank, document.text))
    for match in _LINK.finditer(text):
        link = unquote(match[1] or match[2]).split("#")[0]
        if link and not _SCHEME.match(link):
            yield match.start(), posixpath.normpath(posixpath.join(document.folder, link))


@rule("mend or remove it")
def broken_link(tree: Tree) -> Iterator[Finding]:
    there = {"."}
    for path in tree:
        parts = path.split("/")
        there.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    for document in tree.of("markdown"):
        for offset, path in _links(document):
            if path not in there:
                yield found(document, offset, f"the link to {path} leads nowhere")


@rule("link it from where a reader would look")
def doc_linked(tree: Tree) -> Iterator[Finding]:
    documents = tree.of("markdown")
    linked = {path for file in documents for _, path in _links(file) if path != file.path}
    for document in documents:
        if document.top == "docs" and document.path not in linked:
            yield Finding(document.path, 1, "no other document links here")


@rule("name the one that is there", spares_files=True)
def named_file(tree: Tree) -> Iterator[Finding]:
    """`name.py` or `folder/name.py` in the text with which no file's path ends."""
    ends = set()
    for path in tree:
        parts = path.split("/")
        ends.update("/".join(parts[at:]) for at in range(len(parts)))
    for document in tree.of("markdown"):
        for match in _NAMED_FILE.finditer(_FENCED.sub(cpp.blank, document.text)):
            if match[1] not in ends:
                yield found(document, match.start(), f"{match[1]}: there is no such file")


@rule("a row for each rule, whose last cell names a check that is on, or `review`")
def style_map(tree: Tree) -> Iterator[Finding]:
    lines = tree[STYLE].lines if STYLE in tree else []
    if not 0 < len(lines) <= STYLE_LINES:
        yield Finding(STYLE, 1, f"{len(lines)} lines, not 1 to {STYLE_LINES}")
    configs = [file.text for file in tree.of("build", "config")]
    named, is_body = set(), False
    for number, line in enumerate(lines, 1):
        cells = line.strip().split("|")[1:-1]
        if not (cells and is_body):
            is_body = bool(cells) and set("".join(cells)) <= set("-: ")
            continue
        enforcers = _ENFORCER.findall(cells[-1])
        if not enforcers:
            yield Finding(STYLE, number, "nothing enforces this rule")
        for enforcer, name, _ in enforcers:
            if enforcer == "tidy":
                named.add(name)
            elif not any(name in text for text in configs):
                yield Finding(STYLE, number, f"{enforcer} has no {name}")
    for name in sorted(RULES.keys() ^ named):
        yield Finding(STYLE, 1, f"tidy:{name} is not both a row here and a rule")
